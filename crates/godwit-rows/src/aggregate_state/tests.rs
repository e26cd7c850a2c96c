use godwit_vector::{Bitmap, Flat, PhysicalType, Vector};
use proptest::prelude::*;

use super::*;
use crate::RowOwner;

/// Two groups fed from two halves that are combined, against a naive computation.
fn check(values: &[(Option<i32>, bool)], split: usize) {
    let kinds = [
        StateKind::Count,
        StateKind::SumI64,
        StateKind::SumI128,
        StateKind::SumF64,
        StateKind::Min(PhysicalType::I32),
        StateKind::Max(PhysicalType::F64),
        StateKind::Max(PhysicalType::I128),
        StateKind::BitAnd,
        StateKind::BitXor,
        StateKind::Moments,
        StateKind::PowerSums,
        StateKind::Comoments,
        StateKind::Product,
        StateKind::CompensatedSum,
    ];
    let layout = StateLayout::new(&kinds);
    let mut owners = [RowOwner::new(), RowOwner::new()];
    let mut areas = [StateArea::new(&layout, &owners[0]), StateArea::new(&layout, &owners[1])];
    let halves = [&values[..split], &values[split..]];
    for ((area, owner), half) in areas.iter_mut().zip(&mut owners).zip(halves) {
        area.grow(owner, 2);
        let validity = || Some(Bitmap::from_fn(half.len(), |i| half[i].0.is_some()));
        let numbers: Vec<i32> = half.iter().map(|(value, _)| value.unwrap_or(99)).collect();
        let floats = Vector::from_values(numbers.iter().map(|&v| v as f64).collect::<Vec<f64>>(), validity());
        let wide = Vector::from_values(numbers.iter().map(|&v| v as i128).collect::<Vec<i128>>(), validity());
        let integers = Vector::from_values(numbers, validity());
        let groups: Vec<u32> = half.iter().map(|(_, group)| *group as u32).collect();
        let mut rows = layout.new_list();
        area.list(&groups, &mut rows);
        let rows = rows.all();
        for (index, kind) in kinds.iter().enumerate() {
            // In pairs, one value is the square of the other.
            let squares = Vector::from_values(
                half.iter().map(|(value, _)| (value.unwrap_or(99) as f64).powi(2)).collect::<Vec<f64>>(),
                None,
            );
            if *kind == StateKind::Comoments {
                layout.update(owner, index, rows, &[squares, floats.clone()]).unwrap();
                continue;
            }
            let argument = match kind {
                StateKind::SumI128 | StateKind::Max(PhysicalType::I128) => &wide,
                StateKind::SumF64
                | StateKind::CompensatedSum
                | StateKind::Max(_)
                | StateKind::Moments
                | StateKind::PowerSums => &floats,
                StateKind::BitXor => &wide,
                _ => &integers,
            };
            layout.update(owner, index, rows, std::slice::from_ref(argument)).unwrap();
        }
    }
    let (mut rows, mut others) = (layout.new_list(), layout.new_list());
    areas[0].list(&[0, 1], &mut rows);
    areas[1].list(&[0, 1], &mut others);
    let [owner, other] = &mut owners;
    layout.combine(owner, rows.all(), other.read(others.all())).unwrap();
    let rows = owner.read(rows.all());
    for group in 0..2 {
        let mine: Vec<i64> =
            values.iter().filter(|v| v.1 as usize == group).filter_map(|v| v.0).map(i64::from).collect();
        let sum: i64 = mine.iter().sum();
        assert_eq!(layout.counts(0, rows)[group], mine.len() as u64);
        assert_eq!(layout.sums_i64(1, rows).unwrap()[group], sum);
        assert_eq!(layout.sums_i128(2, rows)[group], sum as i128);
        assert_eq!(layout.sums_f64(3, rows)[group], sum as f64);
        assert_eq!(layout.sums_f64(13, rows)[group], sum as f64);
        assert_eq!(layout.bits(7, rows)[group], mine.iter().fold(-1, |a, b| a & i128::from(*b)));
        assert_eq!(layout.bits(8, rows)[group], mine.iter().fold(0, |a, b| a ^ i128::from(*b)));
        let moments = layout.moments(9, rows)[group];
        assert_eq!(moments.count, mine.len() as f64);
        if mine.is_empty() {
            continue;
        }
        assert_eq!(layout.extremes(6, rows).values::<i128>()[group] as i64, *mine.iter().max().unwrap());
        assert_eq!(layout.extremes(4, rows).values::<i32>()[group] as i64, *mine.iter().min().unwrap());
        assert_eq!(layout.extremes(5, rows).values::<f64>()[group], *mine.iter().max().unwrap() as f64);
        let mean = sum as f64 / mine.len() as f64;
        let squares: f64 = mine.iter().map(|&v| (v as f64 - mean).powi(2)).sum();
        let is_close = |a: f64, b: f64, size: f64| assert!((a - b).abs() <= 1e-9 * size.max(1.0), "{a}, not {b}");
        is_close(moments.squares, squares, squares);
        let power = |power: i32| mine.iter().map(|&v| (v as f64 - mean).powi(power)).sum::<f64>();
        let sums = layout.power_sums(10, rows)[group];
        is_close(sums.squares, squares, squares);
        is_close(sums.cubes, power(3), 1e3 * squares);
        is_close(sums.fourths, power(4), power(4));
        let pairs = layout.comoments(11, rows)[group];
        let mean_square = mine.iter().map(|&v| (v * v) as f64).sum::<f64>() / mine.len() as f64;
        let product: f64 = mine.iter().map(|&v| (v as f64 - mean) * ((v * v) as f64 - mean_square)).sum();
        is_close(pairs.squares_x, squares, squares);
        is_close(pairs.products, product, 1e3 * squares);
        is_close(pairs.mean_y, mean_square, mean_square);
        let product: f64 = mine.iter().map(|&v| v as f64).product();
        assert!(layout.sums_f64(12, rows)[group] == product || (product.abs() > 1e15));
    }
}

proptest! {
    #[test]
    fn states_agree_with_a_naive_computation(
        values in proptest::collection::vec((proptest::option::of(-1000..1000i32), any::<bool>()), 0..60),
        split in 0..60usize,
    ) {
        check(&values, split.min(values.len()));
    }
}

#[test]
fn nan_is_the_largest_float() {
    let layout = StateLayout::new(&[StateKind::Min(PhysicalType::F64), StateKind::Max(PhysicalType::F64)]);
    for (values, min, max) in [(vec![f64::NAN, 1.0, -2.0], -2.0, f64::NAN), (vec![f64::NAN], f64::NAN, f64::NAN)] {
        let mut owner = RowOwner::new();
        let mut area = StateArea::new(&layout, &owner);
        area.grow(&owner, 1);
        let mut rows = layout.new_list();
        area.list(&vec![0; values.len()], &mut rows);
        let vector = Vector::from_values(values, None);
        for state in 0..2 {
            layout.update(&mut owner, state, rows.all(), std::slice::from_ref(&vector)).unwrap();
        }
        let read = |state| layout.extremes(state, owner.read(rows.slice(0..1))).values::<f64>()[0];
        assert_eq!((read(0).to_bits(), read(1).to_bits()), (f64::to_bits(min), f64::to_bits(max)));
    }
}

#[test]
fn wide_sums_are_checked() {
    let layout = StateLayout::new(&[StateKind::SumI128]);
    let mut owner = RowOwner::new();
    let mut area = StateArea::new(&layout, &owner);
    area.grow(&owner, 1);
    let mut rows = layout.new_list();
    area.list(&[0, 0], &mut rows);
    let vector = Vector::flat(Flat::I128(vec![i128::MAX, 1].into()), None);
    assert!(layout.update(&mut owner, 0, rows.all(), std::slice::from_ref(&vector)).is_err());
}
