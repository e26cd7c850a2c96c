//! Random expressions over columns of every type.

use std::sync::Arc;

use godwit_plan::{Comparison, Expr, ExprKind, Match};
use godwit_types::{Arithmetic, EnumType, SqlType, Value, arithmetic_type, cast_kind, format_value, parse_value};

use crate::rows::Rows;

const COMPARISONS: [Comparison; 8] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
    Comparison::Distinct,
    Comparison::NotDistinct,
];

const OPERATORS: [Arithmetic; 5] =
    [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide, Arithmetic::Modulo];

/// One type of each kind that has vectors, with interesting values.
fn samples() -> Vec<(SqlType, Vec<&'static str>)> {
    use SqlType as T;
    let mood = ["sad", "ok", "happy"].map(Arc::from).to_vec();
    let mood = T::Enum(Arc::new(EnumType { name: "mood".into(), labels: mood }));
    let pair = T::struct_of([("a", T::Integer), ("b", T::Varchar)]);
    let times = ["1970-01-01", "2000-02-29 23:59:59.999999", "1969-12-31 23:59:59.5", "1677-12-31", "2262-01-01"];
    vec![
        (T::Boolean, vec!["true", "false"]),
        (T::TinyInt, vec!["0", "1", "-1", "127", "-128", "7"]),
        (T::SmallInt, vec!["0", "1", "-1", "32767", "-32768", "300"]),
        (T::Integer, vec!["0", "1", "-1", "2147483647", "-2147483648", "70000"]),
        (T::BigInt, vec!["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "5000000000"]),
        (T::HugeInt, vec!["0", "1", "-1", "170141183460469231731687303715884105727", "-99999999999999999999"]),
        (T::UTinyInt, vec!["0", "1", "255", "128"]),
        (T::USmallInt, vec!["0", "1", "65535", "256"]),
        (T::UInteger, vec!["0", "1", "4294967295", "65536"]),
        (T::UBigInt, vec!["0", "1", "18446744073709551615", "9223372036854775808"]),
        (T::Real, vec!["0", "-0.0", "1.5", "-2.5", "0.1", "3.4e38", "1e-45", "nan", "inf", "-inf", "16777217"]),
        (T::Double, vec!["0", "-0.0", "1.005", "-2.5", "0.1", "1e300", "5e-324", "nan", "inf", "-inf", "9.3e18"]),
        (T::decimal(4, 2), vec!["0", "1.00", "-0.05", "99.99", "-99.99", "0.50"]),
        (T::decimal(18, 3), vec!["0", "1.005", "-0.500", "999999999999999.999", "2.5"]),
        (
            T::decimal(38, 10),
            vec!["0", "0.5", "-1.5", "9999999999999999999999999999.9999999999", "123456789.1234567891"],
        ),
        (
            T::Varchar,
            vec!["", "a", "abc", "ABC", "ä", "a%c", "12", "-1.5", "1e3", "true", "2020-02-29", "1 month", "[1, 2]"],
        ),
        (T::Blob, vec!["", "abc", "\\x00ff"]),
        (T::Bit, vec!["0", "1011"]),
        (
            T::Date,
            vec!["1970-01-01", "2000-02-29", "1999-12-31", "5881580-07-10", "0001-01-01", "infinity", "-infinity"],
        ),
        (T::Time, vec!["00:00:00", "23:59:59.999999", "12:30:00"]),
        (T::Timestamp, [&times[..], &["294247-01-10 04:00:54.775806", "0001-01-01", "infinity", "-infinity"]].concat()),
        (T::TimestampS, [&times[..2], &["1969-12-31 23:59:59", "99999-01-01"]].concat()),
        (T::TimestampMs, [&times[..], &["99999-01-01"]].concat()),
        (T::TimestampNs, times.to_vec()),
        (T::TimestampTz, times.to_vec()),
        (
            T::Interval,
            vec!["0 s", "1 month", "30 days", "720:00:00", "-1 day 01:00:00", "1 year 2 months 3 days", "0.000001 s"],
        ),
        (T::Uuid, vec!["00000000-0000-0000-0000-000000000000", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]),
        (T::Json, vec!["{}", "[1, 2]", "null"]),
        (mood.clone(), vec!["sad", "ok", "happy"]),
        (T::list_of(T::Integer), vec!["[]", "[1]", "[1, NULL]", "[2, 3]", "[NULL]"]),
        (T::list_of(T::Varchar), vec!["[]", "[a]", "[a, NULL]", "['', b]"]),
        (T::list_of(T::Interval), vec!["[]", "[1 month]", "[30 days]", "[NULL]"]),
        (T::list_of(T::list_of(T::Double)), vec!["[]", "[[1.5], []]", "[NULL, [nan]]"]),
        (T::Array(Arc::new(T::Integer), 2), vec!["[1, 2]", "[1, NULL]", "[0, 9]"]),
        (pair, vec!["{'a': 1, 'b': x}", "{'a': NULL, 'b': x}", "{'a': 1, 'b': NULL}"]),
        (T::struct_of([("m", mood)]), vec!["{'m': sad}", "{'m': happy}", "{'m': NULL}"]),
        (T::Map(Arc::new((T::Varchar, T::Integer))), vec!["{}", "{k=1}", "{k=1, l=NULL}"]),
    ]
}

/// Random numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn of<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

struct Generator {
    random: Random,
    rows: Rows,
    samples: Vec<(SqlType, Vec<Value>)>,
    /// (operator, left, right, result)
    arithmetic: Vec<(Arithmetic, SqlType, SqlType, SqlType)>,
}

const ROWS: usize = 12;

impl Generator {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let values = |(ty, texts): (SqlType, Vec<&str>)| {
            let values = texts.iter().map(|text| parse_value(text, &ty).unwrap_or_else(|error| panic!("{error}")));
            let values = values.chain([Value::Null]).collect();
            (ty, values)
        };
        let samples: Vec<(SqlType, Vec<Value>)> = samples().into_iter().map(values).collect();
        let types: Vec<SqlType> = samples.iter().map(|(ty, _)| ty.clone()).collect();
        let mut arithmetic = Vec::new();
        for (op, a, b) in types
            .iter()
            .flat_map(|a| types.iter().map(move |b| (a, b)))
            .flat_map(|(a, b)| OPERATORS.map(|op| (op, a, b)))
        {
            arithmetic.extend(arithmetic_type(op, a, b).map(|types| (op, types.left, types.right, types.result)));
        }
        let row = |random: &mut Random| samples.iter().map(|(_, values)| random.of(values).clone()).collect();
        let values = (0..ROWS).map(|_| row(&mut random)).collect();
        Self { random, rows: Rows::new(types, values), samples, arithmetic }
    }

    /// Returns a type that some column has.
    fn any_type(&mut self) -> SqlType {
        self.random.of(&self.rows.types).clone()
    }

    fn leaf(&mut self, ty: &SqlType) -> Expr {
        match self.rows.types.iter().position(|other| other == ty) {
            Some(index) if !self.random.chance(3) => self.rows.column(index),
            Some(index) => Expr::literal(self.random.of(&self.samples[index].1).clone(), ty.clone()),
            None => {
                let value = *self.random.of(&["0", "1", "-2.5", "7", "12.34"]);
                Expr::literal(parse_value(value, ty).unwrap_or(Value::Null), ty.clone())
            }
        }
    }

    fn expr(&mut self, ty: &SqlType, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf(ty);
        }
        let specific = match self.random.below(10) {
            0..5 if *ty == SqlType::Boolean => Some(self.boolean(depth)),
            0..5 => self.computed(ty, depth),
            5..8 => self.cast(ty, depth),
            8 => Some(self.choice(ty, depth)),
            _ => Some(self.bound(ty, depth)),
        };
        specific.unwrap_or_else(|| self.leaf(ty))
    }

    fn new_expr(kind: ExprKind, ty: &SqlType) -> Expr {
        Expr::new(kind, ty.clone(), true)
    }

    fn boxed(&mut self, ty: &SqlType, depth: usize) -> Box<Expr> {
        Box::new(self.expr(ty, depth - 1))
    }

    fn boolean(&mut self, depth: usize) -> Expr {
        let truth = SqlType::Boolean;
        let ty = self.any_type();
        let kind = match self.random.below(9) {
            0..4 => {
                let comparison = *self.random.of(&COMPARISONS);
                return Expr::compare(comparison, self.expr(&ty, depth - 1), self.expr(&ty, depth - 1));
            }
            4 => ExprKind::And(vec![self.expr(&truth, depth - 1), self.expr(&truth, depth - 1)]),
            5 => ExprKind::Or(vec![self.expr(&truth, depth - 1), self.expr(&truth, depth - 1)]),
            6 => ExprKind::Not(self.boxed(&truth, depth)),
            7 => {
                let literals = self.random.chance(2);
                let list = 0..self.random.below(7) + 1;
                let list =
                    list.map(|_| if literals { self.leaf_literal(&ty) } else { self.expr(&ty, depth - 1) }).collect();
                ExprKind::InList(self.boxed(&ty, depth), list)
            }
            _ if self.random.chance(2) => return self.expr(&ty, depth - 1).is_null(),
            _ => self.pattern(depth),
        };
        Self::new_expr(kind, &truth)
    }

    fn leaf_literal(&mut self, ty: &SqlType) -> Expr {
        let (_, values) = self.samples.iter().find(|(other, _)| other == ty).expect("there is a column of it");
        Expr::literal(self.random.of(values).clone(), ty.clone())
    }

    fn pattern(&mut self, depth: usize) -> ExprKind {
        let kinds = [Match::Like, Match::ILike, Match::Similar, Match::Glob, Match::Regex, Match::IRegex];
        let patterns =
            ["a%", "%b%", "_b_", "a\\%c", "abc", "", "%", "(a|b)%", "a*", "a?c", "[!b]*", "^a", "b.", "\\", "("];
        let pattern = Expr::literal(Value::text(*self.random.of(&patterns)), SqlType::Varchar);
        let pattern = if self.random.chance(5) { self.leaf(&SqlType::Varchar) } else { pattern };
        ExprKind::Match {
            kind: *self.random.of(&kinds),
            input: self.boxed(&SqlType::Varchar, depth),
            pattern: Box::new(pattern),
            escape: self.random.chance(2).then_some('\\'),
        }
    }

    fn computed(&mut self, ty: &SqlType, depth: usize) -> Option<Expr> {
        let is_signed = ty.is_signed_integer() || ty.is_decimal() || ty.is_float() || *ty == SqlType::Interval;
        if is_signed && self.random.chance(6) {
            return Some(Self::new_expr(ExprKind::Negate(self.boxed(ty, depth)), ty));
        }
        let ways: Vec<usize> = (0..self.arithmetic.len()).filter(|&way| self.arithmetic[way].3 == *ty).collect();
        if ways.is_empty() {
            return None;
        }
        let (op, left, right, _) = self.arithmetic[*self.random.of(&ways)].clone();
        Some(Self::new_expr(ExprKind::Arithmetic(op, self.boxed(&left, depth), self.boxed(&right, depth)), ty))
    }

    fn cast(&mut self, ty: &SqlType, depth: usize) -> Option<Expr> {
        let sources: Vec<SqlType> =
            self.rows.types.iter().filter(|from| *from != ty && cast_kind(from, ty).is_some()).cloned().collect();
        if sources.is_empty() {
            return None;
        }
        let from = self.random.of(&sources).clone();
        let input = match (&from, self.random.chance(2)) {
            // Most text is not a value of another type.
            (SqlType::Varchar, true) => {
                let index = self.rows.types.iter().position(|other| other == ty)?;
                let value = self.random.of(&self.samples[index].1).clone();
                Box::new(Expr::literal(Value::text(format_value(&value, ty)), SqlType::Varchar))
            }
            _ => self.boxed(&from, depth),
        };
        Some(Self::new_expr(ExprKind::Cast { input, lenient: self.random.chance(2) }, ty))
    }

    fn choice(&mut self, ty: &SqlType, depth: usize) -> Expr {
        if self.random.chance(2) {
            let all = (0..self.random.below(3) + 1).map(|_| self.expr(ty, depth - 1)).collect();
            return Self::new_expr(ExprKind::Coalesce(all), ty);
        }
        let truth = SqlType::Boolean;
        let branches = 0..self.random.below(3) + 1;
        let branches = branches.map(|_| (self.expr(&truth, depth - 1), self.expr(ty, depth - 1))).collect();
        let otherwise = if self.random.chance(2) { Some(self.boxed(ty, depth)) } else { None };
        Self::new_expr(ExprKind::Case { branches, otherwise }, ty)
    }

    /// A value that is used twice.
    fn bound(&mut self, ty: &SqlType, depth: usize) -> Expr {
        let column = self.rows.plan.add_column("x", ty.clone(), true);
        let value = self.boxed(ty, depth);
        let local = Self::new_expr(ExprKind::Column(column), ty);
        let test = match self.random.chance(2) {
            true => local.clone().is_null(),
            false => Expr::compare(*self.random.of(&COMPARISONS), local.clone(), self.leaf(ty)),
        };
        let branches = vec![(test, self.leaf(ty))];
        let body = ExprKind::Case { branches, otherwise: Some(Box::new(local)) };
        Self::new_expr(ExprKind::Let { column, value, body: Box::new(Self::new_expr(body, ty)) }, ty)
    }
}

/// Single operations on columns and constants: values and errors are the same.
#[test]
fn single_operations_agree() {
    for seed in 0..20 {
        let mut generator = Generator::new(seed);
        for ty in generator.rows.types.clone() {
            for _ in 0..6 {
                let expr = generator.expr(&ty, 1);
                let is_lazy = matches!(
                    expr.kind,
                    ExprKind::And(_)
                        | ExprKind::Or(_)
                        | ExprKind::Case { .. }
                        | ExprKind::Coalesce(_)
                        | ExprKind::Let { .. }
                );
                generator.rows.check(&expr, !is_lazy);
            }
        }
    }
}

/// Nested operations: where the reference has a value, so has the expression.
#[test]
fn nested_operations_agree() {
    for seed in 1_000..1_020 {
        let mut generator = Generator::new(seed);
        for ty in generator.rows.types.clone() {
            for depth in [2, 3, 4] {
                let expr = generator.expr(&ty, depth);
                generator.rows.check(&expr, false);
            }
        }
    }
}
