//! Tests the life of groups in an imitated resctrl, and everything that can go wrong with them.

use std::fs;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_common::Named;
use proptest::prelude::*;
use tempfile::TempDir;

use super::imitation::{Call, EINVAL, ENOSPC, Imitation, NAMESPACE, START};
use super::{CachePartitioning, Mode, OffReason, OsFiles, PAUSE_MAX, Status, SystemFiles, pause};
use crate::CacheClass::{self, Comparable, Polluting, Sensitive};

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const ESRCH: i32 = 3;
const EBUSY: i32 = 16;

/// An imitated machine, and its folder.
struct Machine {
    imitation: Imitation,
    _folder: TempDir,
}

impl Deref for Machine {
    type Target = Imitation;

    fn deref(&self) -> &Imitation {
        &self.imitation
    }
}

fn imitated(ways: u32, classes: u32) -> Machine {
    imitated_with("L3", ways, classes)
}

fn imitated_with(resource: &'static str, ways: u32, classes: u32) -> Machine {
    let folder = tempfile::tempdir().unwrap();
    Machine { imitation: Imitation::with_resource(folder.path(), resource, ways, classes), _folder: folder }
}

fn start(machine: &Imitation) -> Result<Arc<CachePartitioning>, OffReason> {
    CachePartitioning::start_with(Mode::On, machine.paths(), Box::new(machine.clone())).map(Arc::new)
}

fn reason(machine: &Imitation) -> OffReason {
    let reason = start(machine).map(drop).expect_err("it can't be on");
    // The same, as a state.
    machine.heal();
    reason
}

fn group_of(machine: &Imitation) -> String {
    // Before its first move it is in the default group.
    let name = machine.group_of(OsFiles.thread_id()).unwrap_or_default();
    name.rsplit('-').next().unwrap().to_owned()
}

#[test]
fn groups_are_made_used_and_removed() {
    let machine = imitated(20, 16);
    let partitioning = start(&machine).unwrap();
    let [comparable, polluting] = machine.groups().try_into().unwrap();
    let (pid, named) = (std::process::id(), |name: &str| name.split('-').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(named(&polluting)[..4], ["godwit".into(), NAMESPACE.to_string(), pid.to_string(), START.to_string()]);
    let schemata = |group| fs::read_to_string(machine.root().join(group).join("schemata")).unwrap();
    assert_eq!(schemata(&polluting), "L3:0=3;1=3\n");
    assert_eq!(schemata(&comparable), "L3:0=fff00;1=fff00\n");

    let mut place = partitioning.thread();
    for (class, group, moves) in [
        // Its earlier class isn't known.
        (Sensitive, "", 1),
        (Polluting, "polluting", 2),
        (Polluting, "polluting", 2),
        (Comparable, "comparable", 3),
        (Sensitive, "", 4),
        (Sensitive, "", 4),
        (Polluting, "polluting", 5),
    ] {
        place.enter(class);
        assert_eq!((place.class(), group_of(&machine).as_str(), machine.moves()), (Some(class), group, moves));
    }
    let on = Status::On { polluting_ways: 2, comparable_ways: 12, sensitive_ways: 20, moves: 5 };
    assert_eq!(partitioning.status(), on);
    assert!(on.to_string().starts_with("on: of 20 ways scans fill 2"));
    drop(place);
    assert_eq!((group_of(&machine).as_str(), machine.moves()), ("", 6), "a dropped place goes home");
    drop(partitioning);
    assert_eq!(machine.groups(), [""; 0]);
}

#[test]
fn threads_have_places_of_their_own() {
    let machine = imitated(20, 16);
    let partitioning = start(&machine).unwrap();
    let mut place = partitioning.thread();
    place.enter(Polluting);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = partitioning.thread();
            other.enter(Comparable);
            assert_eq!(group_of(&machine), "comparable");
        });
    });
    assert_eq!(group_of(&machine), "polluting");
}

#[test]
fn modes() {
    assert_eq!(
        ["AUTO", "on", "Off", "maybe"].map(Mode::from_name),
        [Some(Mode::Auto), Some(Mode::On), Some(Mode::Off), None]
    );
    let machine = imitated(3, 16);
    let started = |mode| CachePartitioning::start_with(mode, machine.paths(), Box::new(machine.clone()));
    let few = OffReason::TooFewWays { ways: 3, needed: 4 };
    assert_eq!(started(Mode::Auto).unwrap().status(), Status::Off(few.clone()));
    assert_eq!(started(Mode::On).err(), Some(few));
    assert_eq!(started(Mode::Off).unwrap().status(), Status::Off(OffReason::Setting));
    // Off costs nothing and moves nothing.
    let off = Arc::new(started(Mode::Auto).unwrap());
    let mut place = off.thread();
    place.enter(Polluting);
    assert_eq!((place.class(), machine.moves()), (None, 0));
    // Nothing panics on the machine that runs this test, whatever it supports.
    let shared = CachePartitioning::of_process();
    assert_eq!(shared.is_on(), matches!(shared.status(), Status::On { .. }));
    assert_eq!(Arc::ptr_eq(&shared, &CachePartitioning::of_process()), shared.is_on());
}

#[test]
fn reasons_that_the_machine_gives() {
    let machine = imitated(20, 16);
    fs::remove_dir_all(machine.root().join("info")).unwrap();
    assert_eq!(reason(&machine), OffReason::NotMounted { root: machine.root() });
    fs::remove_dir_all(machine.root()).unwrap();
    assert_eq!(reason(&machine), OffReason::NoCacheAllocation { root: machine.root() });

    let machine = imitated_with("L2", 20, 16);
    assert_eq!(reason(&machine), OffReason::NoCacheAllocation { root: machine.root() });

    let machine = imitated(20, 16);
    for call in [Call::List, Call::Read] {
        machine.fail(call, if call == Call::List { "resctrl" } else { "cbm_mask" }, EPERM, 1);
        assert!(matches!(reason(&machine), OffReason::NotPermitted { .. }));
    }
    for (file, text) in [("info/L3/cbm_mask", "many"), ("info/L3/num_closids", ""), ("schemata", "L3:0=zz\n")] {
        let machine = imitated(20, 16);
        fs::write(machine.root().join(file), text).unwrap();
        let expected = OffReason::Unreadable { path: machine.root().join(file), found: text.trim().into() };
        assert_eq!(reason(&machine), expected);
    }
    let machine = imitated(20, 16);
    fs::remove_file(machine.proc().join("self/ns/pid")).unwrap();
    assert!(matches!(reason(&machine), OffReason::Unreadable { .. }));
}

#[test]
fn no_free_class_leaves_no_group_behind() {
    // The default group takes one class, others' groups the next.
    for (classes, others) in [(1, 0), (2, 0), (4, 2)] {
        let machine = imitated(20, classes);
        (0..others).for_each(|other| machine.group(&format!("other{other}"), "fffff"));
        assert_eq!(reason(&machine), OffReason::NoFreeClass { classes });
        assert_eq!(machine.groups().len(), others);
    }
    assert!(start(&imitated(20, 3)).is_ok());
}

#[test]
fn refusals_at_the_start() {
    let machine = imitated(20, 16);
    machine.fail(Call::Create, "polluting", EPERM, 1);
    assert!(matches!(reason(&machine), OffReason::NotPermitted { .. }));

    // Busy for a moment, or permanently.
    machine.fail(Call::Create, "comparable", EBUSY, 2);
    drop(start(&machine).unwrap());
    machine.heal();
    machine.fail(Call::Create, "comparable", EBUSY, 3);
    assert!(matches!(reason(&machine), OffReason::Refused { .. }));
    assert_eq!(machine.groups(), [""; 0]);

    // Masks that overlap with an exclusive group.
    for (errno, group) in [(EINVAL, "polluting/schemata"), (ENOSPC, "comparable/schemata")] {
        fs::write(machine.root().join("info/last_cmd_status"), "Overlaps with exclusive group\n").unwrap();
        machine.fail(Call::Write, group, errno, 1);
        let OffReason::Refused { path, why } = reason(&machine) else { panic!("the kernel refused") };
        assert!(path.ends_with("schemata") && why.contains("(Overlaps with exclusive group)"), "{why}");
        assert_eq!(machine.groups(), [""; 0]);
    }
}

#[test]
fn stale_groups_are_removed_and_others_stay() {
    let machine = imitated(20, 16);
    let pid = std::process::id();
    machine.process(pid + 1, 77);
    let stay = [
        // A live process, a process that nobody here can see, ours, an administrator's, and names that only look like
        // ours.
        format!("godwit-{NAMESPACE}-{}-77-0-polluting", pid + 1),
        format!("godwit-{}-{}-78-0-polluting", NAMESPACE + 1, pid + 1),
        format!("godwit-{NAMESPACE}-{pid}-{START}-4000000000-polluting"),
        "important".to_owned(),
        "godwit".to_owned(),
        "godwit-1-2-3".to_owned(),
        format!("godwit-{NAMESPACE}-{}-78-0-polluting-more", pid + 1),
        format!("godwit-{NAMESPACE}-x-78-0-polluting"),
    ];
    // A process with the same number that started at another time, and one that is gone.
    let go = [
        format!("godwit-{NAMESPACE}-{}-78-0-polluting", pid + 1),
        format!("godwit-{NAMESPACE}-{}-5-3-comparable", pid + 2),
    ];
    stay.iter().chain(&go).for_each(|group| machine.group(group, "3"));
    // Removals that fail at first are retried; groups that can't be removed at all are left.
    machine.fail(Call::Remove, "-78-0-polluting", EBUSY, 2);
    let partitioning = start(&machine).unwrap();
    let mut expected = stay.to_vec();
    expected.sort();
    let others = |mut groups: Vec<String>| {
        groups.retain(|group| stay.contains(group) || go.contains(group));
        groups
    };
    assert_eq!(others(machine.groups()), expected);
    machine.group(&go[0], "3");
    machine.fail(Call::Remove, "-78-0-polluting", EBUSY, u32::MAX);
    let second = start(&machine).unwrap();
    assert!(machine.groups().contains(&go[0]));
    machine.heal();
    drop((partitioning, second));
    assert_eq!(machine.groups().len(), stay.len() + 1, "ours are gone");
}

#[test]
fn side_by_side() {
    let machine = imitated(20, 16);
    let (first, second) = (start(&machine).unwrap(), start(&machine).unwrap());
    assert_eq!(machine.groups().len(), 4);
    let mut place = second.thread();
    place.enter(Polluting);
    drop(first);
    assert_eq!((machine.groups().len(), group_of(&machine).as_str()), (2, "polluting"));
    drop(place);
    drop(second);
    assert_eq!((machine.groups(), group_of(&machine).as_str()), (vec![], ""));
}

#[test]
fn a_process_that_an_administrator_confined_stays_confined() {
    let machine = imitated(20, 16);
    machine.group("tenant", "0ff00");
    fs::write(machine.proc().join("self/cpu_resctrl_groups"), "res:/tenant\nmon:/\n").unwrap();
    let partitioning = start(&machine).unwrap();
    let ours: Vec<_> = machine.groups().into_iter().filter(|group| group.starts_with("godwit")).collect();
    let schemata = |group: &str| fs::read_to_string(machine.root().join(group).join("schemata")).unwrap();
    assert_eq!(schemata(&ours[1]), "L3:0=300;1=300\n");
    assert_eq!(schemata(&ours[0]), "L3:0=f800;1=f800\n");
    let mut place = partitioning.thread();
    place.enter(Polluting);
    place.enter(Sensitive);
    assert_eq!(group_of(&machine), "tenant");
    fs::write(machine.proc().join("self/cpu_resctrl_groups"), "res:\nmon:\n").unwrap();
    assert!(matches!(reason(&machine), OffReason::Unreadable { .. }));
}

#[test]
fn code_and_data_divided_apart() {
    let machine = imitated_with("L3DATA", 20, 8);
    let _partitioning = start(&machine).unwrap();
    let schemata = fs::read_to_string(machine.root().join(&machine.groups()[1]).join("schemata")).unwrap();
    assert_eq!(schemata, "L3DATA:0=3;1=3\n");
}

#[test]
fn passing_failures_of_moves() {
    let machine = imitated(20, 16);
    let partitioning = start(&machine).unwrap();
    let mut place = partitioning.thread();
    // Busy: the thread stays, and is moved the next time.
    machine.fail(Call::Write, "polluting/tasks", EBUSY, 1);
    place.enter(Polluting);
    assert_eq!(place.class(), None);
    place.enter(Polluting);
    assert_eq!((place.class(), group_of(&machine).as_str()), (Some(Polluting), "polluting"));
    // A thread that has ended isn't tried again.
    machine.fail(Call::Write, "tasks", ESRCH, 1);
    place.enter(Comparable);
    let moves = machine.moves();
    place.enter(Comparable);
    assert_eq!(machine.moves(), moves);
    assert!(matches!(partitioning.status(), Status::On { .. }));
    // A success in between resets the count; sixteen failures in a row turn it off.
    machine.fail(Call::Write, "polluting/tasks", EBUSY, 15);
    (0..15).for_each(|_| place.enter(Polluting));
    place.enter(Polluting);
    assert!(matches!(partitioning.status(), Status::On { .. }));
    place.enter(Sensitive);
    machine.fail(Call::Write, "polluting/tasks", EBUSY, 16);
    (0..16).for_each(|_| place.enter(Polluting));
    assert!(matches!(partitioning.status(), Status::Off(OffReason::Refused { .. })));
}

#[test]
fn a_thread_stays_for_a_while_where_it_moved() {
    let machine = imitated(20, 16);
    machine.pace_moves();
    let partitioning = start(&machine).unwrap();
    let mut place = partitioning.thread();
    place.enter(Polluting);
    let moved = Instant::now();
    // A move of a microsecond already makes it stay for 0.4 ms.
    place.enter(Comparable);
    assert_eq!(place.class(), Some(Polluting));
    while place.class() == Some(Polluting) {
        assert!(moved.elapsed() < Duration::from_secs(10), "it moves in the end");
        place.enter(Comparable);
    }
    assert_eq!((place.class(), machine.moves()), (Some(Comparable), 2));
    // It goes home at once.
    drop(place);
    assert_eq!(group_of(&machine), "");
    assert_eq!(pause(Duration::from_micros(5)), Duration::from_millis(2));
    assert_eq!(pause(Duration::from_secs(3)), PAUSE_MAX);
}

#[test]
fn lasting_failures_turn_it_off() {
    for errno in [EPERM, ENOENT, EINVAL] {
        let machine = imitated(20, 16);
        let partitioning = start(&machine).unwrap();
        let mut place = partitioning.thread();
        place.enter(Comparable);
        machine.fail(Call::Write, "polluting/tasks", errno, u32::MAX);
        place.enter(Polluting);
        assert_eq!((place.class(), group_of(&machine).as_str()), (Some(Comparable), "comparable"));
        let Status::Off(reason) = partitioning.status() else { panic!("it is off") };
        assert_eq!(matches!(reason, OffReason::NotPermitted { .. }), errno == EPERM);
        // From now on threads go home, whatever class they want.
        place.enter(Polluting);
        assert_eq!((place.class(), group_of(&machine).as_str()), (Some(Sensitive), ""));
        let moves = machine.moves();
        place.enter(Comparable);
        assert_eq!(machine.moves(), moves);
        drop(place);
        drop(partitioning);
        assert_eq!(machine.groups(), [""; 0]);
    }
}

#[test]
fn groups_that_somebody_removed() {
    let machine = imitated(20, 16);
    let partitioning = start(&machine).unwrap();
    for group in machine.groups() {
        machine.remove_folder(&machine.root().join(group)).unwrap();
    }
    let mut place = partitioning.thread();
    place.enter(Polluting);
    assert!(partitioning.status().to_string().starts_with("off: the kernel refused a change of"));
    // Even home may be lost; then nothing helps, and moves aren't retried forever.
    fs::remove_file(machine.root().join("tasks")).unwrap();
    place.enter(Comparable);
    assert_eq!(place.class(), Some(Sensitive));
}

#[test]
fn an_ordinary_folder_isnt_resctrl() {
    let machine = imitated(20, 16);
    let started = CachePartitioning::start_with(Mode::On, machine.paths(), Box::new(OsFiles));
    // The folder was created, but without any files.
    let Err(OffReason::Refused { path, .. }) = started else { panic!("nothing answers") };
    assert!(path.ends_with("schemata"));
    assert_eq!(machine.groups(), [""; 0]);
}

#[test]
fn reasons_read_well() {
    let root = std::path::PathBuf::from("/sys/fs/resctrl");
    for (reason, text) in [
        (OffReason::Setting, "cache_partitioning is set to off"),
        (OffReason::NotMounted { root: root.clone() }, "mount -t resctrl resctrl /sys/fs/resctrl"),
        (OffReason::NotPermitted { path: root }, "may not change /sys/fs/resctrl; an administrator"),
        (OffReason::TooFewWays { ways: 3, needed: 4 }, "3 neighbouring ways"),
        (OffReason::NoFreeClass { classes: 4 }, "all 4 classes"),
    ] {
        assert!(reason.to_string().contains(text), "{reason}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Enter(CacheClass),
    Fail(&'static str, i32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let class = prop_oneof![Just(Polluting), Just(Comparable), Just(Sensitive)];
    let file = prop_oneof![Just("polluting/tasks"), Just("comparable/tasks"), Just("resctrl/tasks")];
    let errno = prop_oneof![Just(EBUSY), Just(ESRCH), Just(EPERM), Just(ENOENT)];
    prop_oneof![6 => class.prop_map(Step::Enter), 1 => (file, errno, 1u32..20).prop_map(|(f, e, n)| Step::Fail(f, e, n))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_fails_no_group_is_left(steps in prop::collection::vec(step(), 0..40)) {
        let machine = imitated(20, 16);
        let partitioning = start(&machine).unwrap();
        let mut place = partitioning.thread();
        for step in steps {
            match step {
                Step::Enter(class) => place.enter(class),
                Step::Fail(file, errno, times) => machine.fail(Call::Write, file, errno, times),
            }
            let group = machine.group_of(OsFiles.thread_id()).unwrap_or_default();
            prop_assert!(group.is_empty() || machine.groups().contains(&group), "{group}");
        }
        drop(place);
        drop(partitioning);
        prop_assert_eq!(machine.groups(), [""; 0]);
        prop_assert_eq!(group_of(&machine), "");
    }
}
