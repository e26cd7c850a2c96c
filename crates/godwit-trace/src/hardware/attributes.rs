//! The structure that `perf_event_open` takes, as Linux declares it in `linux/perf_event.h`.

/// The kind of software events.
pub(super) const TYPE_SOFTWARE: u32 = 1;
pub(super) const SOFTWARE_PAGE_FAULTS: u64 = 2;

pub(super) const SAMPLE_THREAD: u64 = 1 << 1;
pub(super) const SAMPLE_TIME: u64 = 1 << 2;
pub(super) const SAMPLE_ADDRESS: u64 = 1 << 3;
pub(super) const SAMPLE_DATA_SOURCE: u64 = 1 << 15;

pub(super) const FORMAT_TIME_ENABLED: u64 = 1 << 0;
pub(super) const FORMAT_TIME_RUNNING: u64 = 1 << 1;
/// Since Linux 6.0.
pub(super) const FORMAT_LOST: u64 = 1 << 4;

// Bits of `flags`, which are bit fields in C: starting at the lowest bit, as on all little-endian machines.
pub(super) const FLAG_DISABLED: u64 = 1 << 0;
pub(super) const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const FLAG_WATERMARK: u64 = 1 << 14;
pub(super) const FLAG_PRECISE_SHIFT: u32 = 15;

/// `perf_event_attr` in its seventh version (128 bytes); later kernels accept it as it is. Fields that we never set are
/// zero.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) kind: u32,
    pub(super) size: u32,
    pub(super) config: u64,
    pub(super) sample_period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) wakeup_watermark: u32,
    pub(super) breakpoint_type: u32,
    pub(super) config1: u64,
    pub(super) config2: u64,
    pub(super) branch_sample_type: u64,
    pub(super) sample_regs_user: u64,
    pub(super) sample_stack_user: u32,
    pub(super) clock_id: i32,
    pub(super) sample_regs_interrupt: u64,
    pub(super) aux_watermark: u32,
    pub(super) sample_max_stack: u16,
    pub(super) reserved_2: u16,
    pub(super) aux_sample_size: u32,
    pub(super) reserved_3: u32,
    pub(super) signal_data: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_c_header() {
        assert_eq!(size_of::<Attributes>(), 128);
        let offsets = [
            (offset_of!(Attributes, kind), 0),
            (offset_of!(Attributes, size), 4),
            (offset_of!(Attributes, config), 8),
            (offset_of!(Attributes, sample_period), 16),
            (offset_of!(Attributes, sample_type), 24),
            (offset_of!(Attributes, read_format), 32),
            (offset_of!(Attributes, flags), 40),
            (offset_of!(Attributes, wakeup_watermark), 48),
            (offset_of!(Attributes, breakpoint_type), 52),
            (offset_of!(Attributes, config1), 56),
            (offset_of!(Attributes, config2), 64),
            (offset_of!(Attributes, branch_sample_type), 72),
            (offset_of!(Attributes, sample_regs_user), 80),
            (offset_of!(Attributes, sample_stack_user), 88),
            (offset_of!(Attributes, clock_id), 92),
            (offset_of!(Attributes, sample_regs_interrupt), 96),
            (offset_of!(Attributes, aux_watermark), 104),
            (offset_of!(Attributes, sample_max_stack), 108),
            (offset_of!(Attributes, aux_sample_size), 112),
            (offset_of!(Attributes, signal_data), 120),
        ];
        for (ours, header) in offsets {
            assert_eq!(ours, header);
        }
    }

    #[test]
    fn flags_are_the_bits_that_a_c_compiler_sets() {
        // disabled, exclude_kernel, watermark and precise_ip = 2, compiled with the header of Linux 6.1.
        let flags = FLAG_DISABLED | FLAG_EXCLUDE_KERNEL | FLAG_WATERMARK | 2 << FLAG_PRECISE_SHIFT;
        assert_eq!(flags.to_le_bytes(), [0x21, 0x40, 0x01, 0, 0, 0, 0, 0]);
    }
}
