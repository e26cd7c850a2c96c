//! Rows made by the `tpchgen` crate, as Arrow arrays.

use std::fmt::Display;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::*;

/// The names and values of a table's columns.
pub type Columns = Vec<(&'static str, ArrayRef)>;

/// Defines a function from rows to columns, each named like its field and converted as given.
macro_rules! columns {
    ($table:ident, $row:ty, $($field:ident: $form:ident),*) => {
        pub fn $table(rows: &[$row]) -> Columns {
            vec![$((stringify!($field), $form(rows.iter().map(|row| &row.$field)))),*]
        }
    };
}

columns!(
    lineitem, LineItem<'_>, l_orderkey: long, l_partkey: long, l_suppkey: long, l_linenumber: int, l_quantity: whole,
    l_extendedprice: decimal, l_discount: decimal, l_tax: decimal, l_returnflag: text, l_linestatus: text,
    l_shipdate: date, l_commitdate: date, l_receiptdate: date, l_shipinstruct: text, l_shipmode: text, l_comment: text
);
columns!(
    orders, Order<'_>, o_orderkey: long, o_custkey: long, o_orderstatus: text, o_totalprice: decimal, o_orderdate: date,
    o_orderpriority: text, o_clerk: text, o_shippriority: int, o_comment: text
);
columns!(
    partsupp, PartSupp<'_>, ps_partkey: long, ps_suppkey: long, ps_availqty: int, ps_supplycost: decimal,
    ps_comment: text
);
columns!(
    customer, Customer<'_>, c_custkey: long, c_name: text, c_address: text, c_nationkey: long, c_phone: text,
    c_acctbal: decimal, c_mktsegment: text, c_comment: text
);
columns!(
    part, Part<'_>, p_partkey: long, p_name: text, p_mfgr: text, p_brand: text, p_type: text, p_size: int,
    p_container: text, p_retailprice: decimal, p_comment: text
);
columns!(
    supplier, Supplier, s_suppkey: long, s_name: text, s_address: text, s_nationkey: long, s_phone: text,
    s_acctbal: decimal, s_comment: text
);
columns!(nation, Nation<'_>, n_nationkey: long, n_name: text, n_regionkey: long, n_comment: text);
columns!(region, Region<'_>, r_regionkey: long, r_name: text, r_comment: text);

fn long<'a>(values: impl Iterator<Item = &'a i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.copied()))
}

fn int<'a>(values: impl Iterator<Item = &'a i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values.copied()))
}

fn date<'a>(values: impl Iterator<Item = &'a TPCHDate>) -> ArrayRef {
    Arc::new(Date32Array::from_iter_values(values.map(|date| date.to_unix_epoch())))
}

fn decimal<'a>(values: impl Iterator<Item = &'a TPCHDecimal>) -> ArrayRef {
    hundredths(values.map(|value| value.into_inner()))
}

/// Returns integers as a column of decimals.
fn whole<'a>(values: impl Iterator<Item = &'a i64>) -> ArrayRef {
    hundredths(values.map(|value| value * 100))
}

fn hundredths(values: impl Iterator<Item = i64>) -> ArrayRef {
    let values = Decimal128Array::from_iter_values(values.map(i128::from));
    Arc::new(values.with_precision_and_scale(15, 2).expect("the specification's type is one of Arrow's"))
}

fn text<'a, V: Display + 'a>(values: impl Iterator<Item = &'a V>) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(values.size_hint().0);
    let mut text = String::new();
    for value in values {
        text.clear();
        write!(text, "{value}").expect("a text can be written to");
        builder.append_value(&text);
    }
    Arc::new(builder.finish())
}
