//! Machines as `/proc` and `/sys` describe them.

use super::*;
use tempfile::TempDir;

const INTEL: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vme de\n";
const INTEL_VIRTUAL: &str = "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n";
const AMD: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme de\n";
const AMD_VIRTUAL: &str = "vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor lahf_lm\n";
const ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n";

const CORE_FORMATS: [(&str, &str); 3] =
    [("format/event", "config:0-7\n"), ("format/umask", "config:8-15\n"), ("format/ldlat", "config1:0-15\n")];

struct Machine {
    folder: TempDir,
    places: Places,
}

impl Machine {
    fn new(processor: &str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { processes: folder.path().join("proc"), devices: folder.path().join("devices") };
        let machine = Machine { folder, places };
        machine.write("proc/cpuinfo", processor);
        machine.write("proc/sys/kernel/perf_event_paranoid", "2\n");
        machine
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.folder.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn with(self, device: &str, files: &[(&str, &str)]) -> Machine {
        for (file, text) in files {
            self.write(&format!("devices/{device}/{file}"), text);
        }
        self
    }

    fn event(&self) -> Result<SampledEvent, Unavailable> {
        load_event(&self.places)
    }

    /// The text of the error, without the temporary folder.
    fn complaint(&self) -> String {
        self.event().unwrap_err().to_string().replace(self.folder.path().to_str().unwrap(), "")
    }
}

fn intel_core(device: &str, generation: &str, precise: &str) -> Machine {
    Machine::new(INTEL)
        .with(device, &CORE_FORMATS)
        .with(device, &[("type", "4\n"), ("caps/pmu_name", generation), ("caps/max_precise", precise)])
}

#[test]
fn intel_samples_all_loads() {
    let event = intel_core("cpu", "skylake\n", "3\n").event().unwrap();
    assert_eq!(event.name, "cpu/event=0xd0,umask=0x81/");
    assert_eq!((event.kind, event.config, event.precise), (4, [0x81d0, 0, 0], 2));
    assert!(event.exclude_kernel);
    assert_eq!((event.layout, event.possible_period(4_000)), (Layout::Address, 4_000));
    assert_eq!(event.possible_period(0), 1);
}

#[test]
fn hybrid_processors_sample_their_fast_cores() {
    let machine = intel_core("cpu_core", "alderlake_hybrid\n", "3\n").with("cpu_atom", &[("type", "10\n")]);
    let event = machine.event().unwrap();
    assert_eq!((event.name.as_str(), event.kind), ("cpu_core/event=0xd0,umask=0x81/", 4));
}

#[test]
fn old_intel_processors_sample_by_latency() {
    let machine = intel_core("cpu", "ivybridge\n", "2\n");
    assert_eq!(
        machine.complaint(),
        format!(
            "/devices/cpu/events/mem-loads doesn't exist: {}",
            "the kernel has no driver for this processor's \
         counters, or firmware turned them off; look at the kernel's log for \"Performance Events\" and \"IBS\""
        )
    );
    let machine = machine.with("cpu", &[("events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n")]);
    assert_eq!(machine.event().unwrap().config, [0x01cd, 3, 0]);
}

#[test]
fn a_processor_that_isnt_precise_has_no_addresses() {
    assert!(intel_core("cpu", "skylake\n", "0\n").complaint().starts_with("/devices/cpu/caps/max_precise is 0, so"));
    // Kernels older than that file.
    let machine = Machine::new(INTEL).with("cpu", &CORE_FORMATS).with("cpu", &[("type", "4\n")]);
    assert_eq!(machine.event().unwrap().precise, 2);
    assert_eq!(intel_core("cpu", "core2\n", "1\n").event().unwrap().precise, 1);
}

#[test]
fn amd_samples_operations_and_filters_as_the_kernel_can() {
    let device = [("type", "11\n"), ("format/cnt_ctl", "config:19\n")];
    let event = Machine::new(AMD).with("ibs_op", &device).event().unwrap();
    assert_eq!((event.kind, event.config, event.precise), (11, [1 << 19, 0, 0], 0));
    assert!(!event.exclude_kernel);
    assert_eq!(event.layout, Layout::AddressAndSource);

    let event =
        Machine::new(AMD).with("ibs_op", &device).with("ibs_op", &[("format/swfilt", "config2:0\n")]).event().unwrap();
    assert_eq!(event.config, [1 << 19, 0, 1]);
    assert!(event.exclude_kernel);
    for (period, possible) in [(4_000, 4_000), (1_000, 1_008), (1_001, 1_008), (200, 208), (1, 144), (u64::MAX, !15)] {
        assert_eq!(event.possible_period(period), possible);
    }
}

#[test]
fn virtual_machines_without_counters_say_so() {
    let complaint = Machine::new(AMD_VIRTUAL).complaint();
    assert!(complaint.starts_with("/devices/ibs_op doesn't exist: the hypervisor"), "{complaint}");
    let complaint = Machine::new(INTEL_VIRTUAL).complaint();
    assert!(complaint.starts_with("/devices/cpu doesn't exist: the hypervisor"), "{complaint}");
    let complaint = Machine::new(INTEL).complaint();
    assert!(complaint.contains("no driver for this processor"), "{complaint}");
}

#[test]
fn other_processors_and_kernels_say_so() {
    let complaint = Machine::new(ARM).complaint();
    assert!(complaint.ends_with(&format!("this one is {}", std::env::consts::ARCH)), "{complaint}");
    let machine = Machine::new(INTEL);
    fs::remove_file(machine.places.processes.join("sys/kernel/perf_event_paranoid")).unwrap();
    let complaint = machine.complaint();
    assert!(complaint.starts_with("/proc/sys/kernel/perf_event_paranoid doesn't exist"), "{complaint}");
    let complaint = Machine::new(AMD).with("ibs_op", &[("type", "11\n")]).complaint();
    assert!(complaint.starts_with("/devices/ibs_op/format/cnt_ctl doesn't exist"), "{complaint}");
}

#[test]
fn descriptions_that_read_differently_are_named() {
    let complaint = Machine::new(AMD).with("ibs_op", &[("type", "eleven\n")]).complaint();
    assert_eq!(complaint, "/devices/ibs_op/type holds \"eleven\", which isn't understood");
    for format in ["", "config", "config:", "config9:0", "config:0-64", "config:x", "config:7-0", "config:0,"] {
        let machine = intel_core("cpu", "skylake\n", "3\n").with("cpu", &[("format/event", format)]);
        let complaint = machine.complaint();
        assert!(complaint.starts_with("/devices/cpu/format/event holds"), "{format}: {complaint}");
    }
}

#[test]
fn values_are_placed_bit_by_bit() {
    let placed = |format, value| {
        let mut config = [0; 3];
        place(&mut config, format, value).map(|()| config)
    };
    assert_eq!(placed("config:0-7,32-35", "0xfff"), Some([0xf_0000_00ff, 0, 0]));
    assert_eq!(placed("config1:63", "1"), Some([0, 1 << 63, 0]));
    assert_eq!(placed("config2:0-63", "18446744073709551615"), Some([0, 0, u64::MAX]));
    assert_eq!(placed("config:0-7", "256"), None);
    assert_eq!(placed("config:0-7", "-1"), None);
}
