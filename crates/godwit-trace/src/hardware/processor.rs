//! Finds the event that samples loads on this machine, by the processor's vendor and what the kernel offers for it.

use super::attributes::{SOFTWARE_PAGE_FAULTS, TYPE_SOFTWARE};
use super::records::Layout;
use super::unavailable::Unavailable;
use std::fs;
use std::path::{Path, PathBuf};

/// Precise events with their own data address exist since the generation after these.
const LOAD_LATENCY_ONLY: [&str; 4] = ["nehalem", "westmere", "sandybridge", "ivybridge"];
/// All loads that retire: `mem_inst_retired.all_loads`, called `mem_uops_retired.all_loads` on small and older cores.
const ALL_LOADS: &str = "event=0xd0,umask=0x81";
/// Counts dispatched operations, not cycles, and filters by privilege where the kernel does that.
const COUNT_OPERATIONS: &str = "cnt_ctl=1";
const FILTER_PRIVILEGE: &str = "swfilt=1";
/// IBS ignores the low four bits of a period, and kernels reject short ones.
const IBS_GRANULE: u64 = 16;
const IBS_PERIOD_MIN: u64 = 144;

/// Where the kernel describes the machine: `/proc`, `/sys/bus/event_source/devices`, or imitations of them.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) processes: PathBuf,
    pub(super) devices: PathBuf,
}

impl Places {
    pub(super) fn of_this_machine() -> Places {
        Places { processes: "/proc".into(), devices: "/sys/bus/event_source/devices".into() }
    }
}

/// An event, as `perf_event_open` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SampledEvent {
    /// The name in messages, in the notation of `perf record`.
    pub(super) name: String,
    pub(super) kind: u32,
    pub(super) config: [u64; 3],
    pub(super) precise: u8,
    pub(super) exclude_kernel: bool,
    pub(super) layout: Layout,
    period_granule: u64,
    period_min: u64,
}

impl SampledEvent {
    /// Every machine has these; their addresses are those that faulted.
    pub(super) fn page_faults() -> SampledEvent {
        SampledEvent::new("page-faults".into(), TYPE_SOFTWARE, [SOFTWARE_PAGE_FAULTS, 0, 0])
    }

    fn new(name: String, kind: u32, config: [u64; 3]) -> SampledEvent {
        SampledEvent {
            name,
            kind,
            config,
            precise: 0,
            exclude_kernel: true,
            layout: Layout::Address,
            period_granule: 1,
            period_min: 1,
        }
    }

    /// The period closest to the requested one that the hardware supports.
    pub(super) fn possible_period(&self, period: u64) -> u64 {
        let granules = period.saturating_add(self.period_granule / 2) / self.period_granule;
        granules.saturating_mul(self.period_granule).max(self.period_min)
    }
}

/// The event that samples loads.
///
/// # Errors
///
/// If this processor or kernel lacks something.
pub(super) fn load_event(places: &Places) -> Result<SampledEvent, Unavailable> {
    let setting = places.processes.join("sys/kernel/perf_event_paranoid");
    if !setting.exists() {
        return Err(Unavailable::NoPerfEvents { missing: setting });
    }
    let processor = fs::read_to_string(places.processes.join("cpuinfo")).unwrap_or_default();
    let field = |name: &str| {
        let (_, value) = processor.lines().find(|line| line.starts_with(name))?.split_once(':')?;
        Some(value.trim())
    };
    let is_virtual = field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    match field("vendor_id") {
        Some("GenuineIntel") => intel(&places.devices, is_virtual),
        Some("AuthenticAMD" | "HygonGenuine") => amd(&places.devices, is_virtual),
        vendor => Err(Unavailable::Processor { vendor: vendor.unwrap_or(std::env::consts::ARCH).to_owned() }),
    }
}

/// PEBS. On a hybrid processor, that of the fast cores.
fn intel(devices: &Path, is_virtual: bool) -> Result<SampledEvent, Unavailable> {
    let hybrid = devices.join("cpu_core");
    let device = if hybrid.exists() { hybrid } else { devices.join("cpu") };
    let kind = kind_of(&device, is_virtual)?;
    let capability = device.join("caps/max_precise");
    // Kernels that don't report it predate virtual machines without PEBS, which do.
    let precise = read(&capability).and_then(|text| text.parse().ok()).unwrap_or(2_u8);
    if precise == 0 {
        return Err(Unavailable::NoPreciseEvents { setting: capability, is_virtual });
    }
    let generation = read(&device.join("caps/pmu_name")).unwrap_or_default();
    let terms = if LOAD_LATENCY_ONLY.contains(&generation.as_str()) {
        let file = device.join("events/mem-loads");
        read(&file).ok_or(Unavailable::NoEventSource { missing: file, is_virtual })?
    } else {
        ALL_LOADS.to_owned()
    };
    let event = SampledEvent::new(name_of(&device, &terms), kind, encode(&device, &terms)?);
    Ok(SampledEvent { precise: precise.min(2), ..event })
}

/// IBS: every n-th operation is sampled; stores and operations without an address are left out. So each load is sampled
/// with probability 1/n.
fn amd(devices: &Path, is_virtual: bool) -> Result<SampledEvent, Unavailable> {
    let device = devices.join("ibs_op");
    let kind = kind_of(&device, is_virtual)?;
    let exclude_kernel = device.join("format/swfilt").exists();
    let terms =
        if exclude_kernel { format!("{COUNT_OPERATIONS},{FILTER_PRIVILEGE}") } else { COUNT_OPERATIONS.to_owned() };
    let event = SampledEvent::new(name_of(&device, &terms), kind, encode(&device, &terms)?);
    Ok(SampledEvent {
        exclude_kernel,
        layout: Layout::AddressAndSource,
        period_granule: IBS_GRANULE,
        period_min: IBS_PERIOD_MIN,
        ..event
    })
}

fn read(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
}

fn name_of(device: &Path, terms: &str) -> String {
    format!("{}/{terms}/", device.file_name().unwrap_or_default().display())
}

fn kind_of(device: &Path, is_virtual: bool) -> Result<u32, Unavailable> {
    let file = device.join("type");
    let text = read(&file).ok_or_else(|| Unavailable::NoEventSource { missing: device.to_owned(), is_virtual })?;
    text.parse().map_err(|_| Unavailable::NotUnderstood { file, text })
}

/// Puts terms such as `event=0xd0,umask=0x81` where the device's `format` files say: `config:0-7`, `config1:0-15,32`.
fn encode(device: &Path, terms: &str) -> Result<[u64; 3], Unavailable> {
    let mut config = [0; 3];
    for term in terms.split(',') {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let file = device.join("format").join(name);
        let format = read(&file).ok_or_else(|| Unavailable::NoTerm { missing: file.clone() })?;
        place(&mut config, &format, value).ok_or(Unavailable::NotUnderstood { file, text: format })?;
    }
    Ok(config)
}

/// Writes the bits of a value, lowest first, to the positions that a format lists.
fn place(config: &mut [u64; 3], format: &str, value: &str) -> Option<()> {
    let mut value = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => value.parse().ok()?,
    };
    let (word, bits) = format.split_once(':')?;
    let word = match word {
        "config" => &mut config[0],
        "config1" => &mut config[1],
        "config2" => &mut config[2],
        _ => return None,
    };
    for range in bits.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        for bit in first.parse::<u32>().ok()?..=last.parse::<u32>().ok().filter(|&last| last < 64)? {
            *word |= (value & 1) << bit;
            value >>= 1;
        }
    }
    (value == 0).then_some(())
}

#[cfg(test)]
#[path = "processor_tests.rs"]
mod tests;
