//! Tests of every rule on all values: an expression and its simplified form have the same value for all values of their
//! columns.
//!
//! Expressions come from [`shapes`]: each operation over two columns of a type (one that may be NULL, one that can't)
//! and the constants of the type, and combinations of these. A rule that applies to none of them fails the test, so no
//! rule goes untested.

use std::collections::HashMap;

use godwit_plan::{Arithmetic, ColumnId, Comparison, Expr, ExprKind, Match, Plan};
use godwit_reference::{TestFunctions, evaluate_expr};
use godwit_types::{Interval, SqlType, Value, arithmetic_type, cast_kind, parse_value};

use super::{RULES, Simplifier, as_condition, simplify_conjuncts};
use crate::properties::Ranges;
use crate::rewrite::fold::fold;

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

/// Returns the types, with the values to try for each.
fn domains() -> Vec<(SqlType, Vec<Value>)> {
    let integers = |values: &[i128]| values.iter().map(|&value| Value::Integer(value)).collect::<Vec<_>>();
    let floats = |values: &[f64]| values.iter().map(|&value| Value::Float(value)).collect::<Vec<_>>();
    let texts =
        |ty: &SqlType, texts: &[&str]| texts.iter().map(|text| parse_value(text, ty).unwrap()).collect::<Vec<_>>();
    let limits = [i128::from(i32::MIN), i128::from(i32::MAX), i128::from(i64::MIN), i128::from(i64::MAX)];
    let interval = |months, days| Value::Interval(Interval { months, days, micros: 0 });
    vec![
        (SqlType::Boolean, vec![Value::Boolean(false), Value::Boolean(true)]),
        (SqlType::TinyInt, integers(&[-128, -1, 0, 1, 127])),
        (SqlType::Integer, integers(&[limits[0], -1, 0, 1, 128, limits[1]])),
        (SqlType::BigInt, integers(&[limits[2], limits[0] - 1, -1, 0, 1, 127, limits[1], limits[3]])),
        (SqlType::decimal(4, 1), integers(&[-9999, -15, -10, 0, 5, 10, 9999])),
        (SqlType::decimal(8, 3), integers(&[-1500, -1499, 0, 500, 549, 1000, 99_999_999])),
        (SqlType::Real, floats(&[f64::NEG_INFINITY, -0.0, 0.0, 0.5, f64::from(0.1f32), 1.0, f64::INFINITY, f64::NAN])),
        (
            SqlType::Double,
            floats(&[
                f64::NEG_INFINITY,
                -1.5,
                -0.0,
                0.0,
                0.1,
                0.5,
                1.0,
                2_147_483_646.5,
                f64::MAX,
                f64::INFINITY,
                f64::NAN,
            ]),
        ),
        (SqlType::Varchar, texts(&SqlType::Varchar, &["", "1", "01", "a", "abc", "a%c", "true"])),
        (SqlType::Date, texts(&SqlType::Date, &["1969-12-31", "1970-01-01", "1998-09-02", "9999-12-31"])),
        (
            SqlType::Timestamp,
            texts(&SqlType::Timestamp, &["1969-12-31 23:59:59", "1970-01-01", "1998-09-02", "1998-09-02 00:00:01"]),
        ),
        (SqlType::Interval, vec![interval(0, 30), interval(1, 0), interval(0, 1)]),
    ]
}

/// Building blocks of expressions: for each type two columns and its constants.
struct Shapes {
    plan: Plan,
    values: HashMap<ColumnId, Vec<Value>>,
    domains: Vec<(SqlType, Vec<Value>)>,
    columns: HashMap<SqlType, [Expr; 2]>,
    /// Columns bound by LET, which no row has.
    bound: HashMap<SqlType, ColumnId>,
}

impl Shapes {
    fn new() -> Self {
        let mut all = Self {
            plan: Plan::new(),
            values: HashMap::new(),
            domains: domains(),
            columns: HashMap::new(),
            bound: HashMap::new(),
        };
        for (ty, values) in domains() {
            let [nullable, not_null] = [true, false].map(|nullable| {
                let id = all.plan.add_column(if nullable { "n" } else { "v" }, ty.clone(), nullable);
                let null = nullable.then_some(Value::Null);
                all.values.insert(id, values.iter().cloned().chain(null).collect());
                Expr::new(ExprKind::Column(id), ty.clone(), nullable)
            });
            all.bound.insert(ty.clone(), all.plan.add_column("bound", ty.clone(), true));
            all.columns.insert(ty, [nullable, not_null]);
        }
        all
    }

    fn constants(&self, ty: &SqlType) -> Vec<Expr> {
        let (_, values) = self.domains.iter().find(|(own, _)| own == ty).unwrap();
        let null = std::iter::once(Expr::null(ty.clone()));
        values.iter().map(|value| Expr::literal(value.clone(), ty.clone())).chain(null).collect()
    }

    fn operands(&self, ty: &SqlType) -> Vec<Expr> {
        self.columns[ty].iter().cloned().chain(self.constants(ty)).collect()
    }

    fn types(&self) -> Vec<SqlType> {
        self.domains.iter().map(|(ty, _)| ty.clone()).collect()
    }

    /// Builds expressions of every kind.
    fn all(&self) -> Vec<Expr> {
        let mut all = Vec::new();
        for ty in self.types() {
            all.extend(self.comparisons(&ty));
            all.extend(self.casts(&ty));
            all.extend(self.lists(&ty));
            all.extend(self.choices(&ty));
            all.extend(self.arithmetic(&ty));
        }
        all.extend(self.patterns());
        let conditions = self.conditions();
        all.extend(combinations(&conditions));
        all.extend(conditions.iter().flat_map(|condition| of_condition(condition, self)));
        all
    }

    fn comparisons(&self, ty: &SqlType) -> Vec<Expr> {
        let operands = self.operands(ty);
        let columns = &self.columns[ty];
        let of_columns = columns.iter().flat_map(|a| operands.iter().map(move |b| (a, b)));
        let turned = columns.iter().flat_map(|a| operands.iter().map(move |b| (b, a)));
        let pairs: Vec<(&Expr, &Expr)> = of_columns.chain(turned).collect();
        let compare = |comparison| pairs.iter().map(move |&(a, b)| Expr::compare(comparison, a.clone(), b.clone()));
        let plain: Vec<Expr> = COMPARISONS.into_iter().flat_map(compare).collect();
        let negated: Vec<Expr> = plain.iter().map(|expr| expr.clone().negated()).collect();
        let tested = plain.iter().map(|expr| expr.clone().is_null()).collect::<Vec<_>>();
        plain.into_iter().chain(negated).chain(tested).collect()
    }

    /// Builds casts to every type and back, compared with all constants of it.
    fn casts(&self, from: &SqlType) -> Vec<Expr> {
        let [nullable, not_null] = &self.columns[from];
        let mut all = Vec::new();
        for to in self.types().into_iter().filter(|to| cast_kind(from, to).is_some()) {
            let cast = |expr: &Expr| cast(expr, &to);
            let back = |expr: &Expr| {
                Expr::new(ExprKind::Cast { input: Box::new(cast(expr)), lenient: false }, from.clone(), expr.nullable)
            };
            if cast_kind(&to, from).is_some() {
                all.extend([back(nullable), back(not_null)]);
            }
            all.extend([cast(nullable).is_null(), cast(nullable)]);
            let constants = self.constants(&to);
            for comparison in COMPARISONS {
                all.extend(
                    constants.iter().map(|constant| Expr::compare(comparison, cast(nullable), constant.clone())),
                );
                all.extend(
                    constants.iter().map(|constant| Expr::compare(comparison, cast(not_null), constant.clone())),
                );
                all.push(Expr::compare(comparison, cast(nullable), cast(not_null)));
            }
            let list = |list: &[Expr]| in_list(cast(nullable), list.to_vec());
            all.extend(constants.windows(2).map(list));
            all.push(list(&constants));
        }
        all
    }

    fn lists(&self, ty: &SqlType) -> Vec<Expr> {
        let [nullable, not_null] = &self.columns[ty];
        let constants = self.constants(ty);
        let mut all = Vec::new();
        for value in [nullable, not_null, &constants[0]] {
            all.push(in_list(value.clone(), Vec::new()));
            all.extend(constants.iter().map(|one| in_list(value.clone(), vec![one.clone()])));
            all.extend(constants.windows(2).map(|two| in_list(value.clone(), two.to_vec())));
            all.extend(
                constants.iter().map(|one| in_list(value.clone(), vec![one.clone(), not_null.clone(), one.clone()])),
            );
        }
        all
    }

    /// Builds COALESCE, CASE and LET.
    fn choices(&self, ty: &SqlType) -> Vec<Expr> {
        let [nullable, not_null] = &self.columns[ty];
        let null = Expr::null(ty.clone());
        let coalesce = |all: Vec<Expr>| {
            let nullable = all.iter().all(|value| value.nullable);
            Expr::new(ExprKind::Coalesce(all), ty.clone(), nullable)
        };
        let inner = coalesce(vec![nullable.clone(), not_null.clone()]);
        let mut all = vec![
            coalesce(vec![nullable.clone(), null.clone(), nullable.clone()]),
            coalesce(vec![null.clone(), null.clone()]),
            coalesce(vec![not_null.clone(), nullable.clone()]),
            coalesce(vec![null.clone(), inner.clone(), nullable.clone()]),
            nullable.clone().is_null(),
            not_null.clone().is_null(),
            inner.is_null(),
        ];
        let [flag, _] = &self.columns[&SqlType::Boolean];
        for condition in self.operands(&SqlType::Boolean) {
            for otherwise in [Some(nullable.clone()), Some(null.clone()), None] {
                let branches = vec![(condition.clone(), nullable.clone()), (flag.clone(), not_null.clone())];
                all.push(case(branches, otherwise.clone(), ty));
                all.push(case(vec![(condition.clone(), nullable.clone())], otherwise, ty));
            }
        }
        all.extend(self.lets(ty));
        all
    }

    fn lets(&self, ty: &SqlType) -> Vec<Expr> {
        let [nullable, not_null] = &self.columns[ty];
        let bound = Expr::new(ExprKind::Column(self.bound[ty]), ty.clone(), true);
        let bodies = [
            Expr::compare(Comparison::Less, bound.clone(), not_null.clone()),
            Expr::compare(Comparison::Equal, bound.clone(), bound.clone()),
            Expr::compare(Comparison::Equal, not_null.clone(), nullable.clone()),
        ];
        let twice = Expr::new(ExprKind::Coalesce(vec![nullable.clone(), not_null.clone()]), ty.clone(), false);
        let values = [nullable.clone(), self.constants(ty)[0].clone(), twice];
        let with = |value: &Expr, body: &Expr| {
            let kind =
                ExprKind::Let { column: self.bound[ty], value: Box::new(value.clone()), body: Box::new(body.clone()) };
            Expr::new(kind, SqlType::Boolean, true)
        };
        values.iter().flat_map(|value| bodies.iter().map(|body| with(value, body))).collect()
    }

    fn arithmetic(&self, ty: &SqlType) -> Vec<Expr> {
        use godwit_types::Arithmetic as Types;
        let operators = [
            (Arithmetic::Add, Types::Add),
            (Arithmetic::Subtract, Types::Subtract),
            (Arithmetic::Multiply, Types::Multiply),
            (Arithmetic::Divide, Types::Divide),
            (Arithmetic::Modulo, Types::Modulo),
        ];
        let mut all = Vec::new();
        for other in self.types() {
            for (op, of_types) in operators {
                let Some(types) = arithmetic_type(of_types, ty, &other) else { continue };
                let of = |a: &Expr, b: &Expr| {
                    let (a, b) = (cast(a, &types.left), cast(b, &types.right));
                    let nullable = a.nullable || b.nullable;
                    Expr::new(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), types.result.clone(), nullable)
                };
                let (left, right) = (&self.columns[ty][0], &self.columns[&other][0]);
                all.extend(self.constants(&other).iter().map(|constant| of(left, constant)));
                all.extend(self.constants(ty).iter().map(|constant| of(constant, right)));
                all.extend(
                    self.constants(ty)
                        .iter()
                        .flat_map(|a| self.constants(&other).into_iter().map(move |b| (a.clone(), b)))
                        .map(|(a, b)| of(&a, &b)),
                );
            }
        }
        if ty.is_float() || ty.is_integer() || ty.is_decimal() {
            let negate = |expr: Expr| Expr::new(ExprKind::Negate(Box::new(expr)), ty.clone(), true);
            all.extend(self.operands(ty).into_iter().map(|expr| negate(negate(expr))));
        }
        all
    }

    fn patterns(&self) -> Vec<Expr> {
        let patterns = ["", "abc", "%", "%%", "a%", "a_c", "a\\%c", "a!%c"];
        let mut all = Vec::new();
        for input in self.operands(&SqlType::Varchar) {
            for (pattern, escape) in patterns.iter().flat_map(|pattern| [(pattern, None), (pattern, Some('!'))]) {
                let pattern = Expr::literal(Value::text(*pattern), SqlType::Varchar);
                for pattern in [pattern, Expr::null(SqlType::Varchar)] {
                    let kind = Match::Like;
                    let input = Box::new(input.clone());
                    let kind = ExprKind::Match { kind, input, pattern: Box::new(pattern), escape };
                    all.push(Expr::new(kind, SqlType::Boolean, true));
                }
            }
        }
        all
    }

    /// Builds conditions that are related to each other.
    fn conditions(&self) -> Vec<Expr> {
        let [flag, sure] = &self.columns[&SqlType::Boolean];
        let [number, whole] = &self.columns[&SqlType::TinyInt];
        let constants = self.constants(&SqlType::TinyInt);
        let less = Expr::compare(Comparison::Less, whole.clone(), constants[2].clone());
        let more = Expr::compare(Comparison::Greater, number.clone(), constants[1].clone());
        vec![
            flag.clone(),
            sure.clone(),
            sure.clone().negated(),
            less.clone(),
            less.negated(),
            more.clone(),
            Expr::compare(Comparison::LessOrEqual, number.clone(), constants[3].clone()),
            Expr::compare(Comparison::Equal, number.clone(), constants[2].clone()),
            in_list(number.clone(), vec![constants[1].clone(), constants[3].clone()]),
            Expr::boolean(true),
            Expr::boolean(false),
            Expr::null(SqlType::Boolean),
        ]
    }
}

fn cast(expr: &Expr, ty: &SqlType) -> Expr {
    expr.clone().cast_to(ty)
}

fn in_list(value: Expr, list: Vec<Expr>) -> Expr {
    Expr::new(ExprKind::InList(Box::new(value), list), SqlType::Boolean, true)
}

fn case(branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>, ty: &SqlType) -> Expr {
    Expr::new(ExprKind::Case { branches, otherwise: otherwise.map(Box::new) }, ty.clone(), true)
}

/// Builds ANDs and ORs of conditions and of each other, and their negations. AND and OR are built by hand, since their
/// constructors flatten.
fn combinations(conditions: &[Expr]) -> Vec<Expr> {
    let make = |all: Vec<Expr>, is_and: bool| {
        let kind = if is_and { ExprKind::And(all) } else { ExprKind::Or(all) };
        Expr::new(kind, SqlType::Boolean, true)
    };
    let mut all = Vec::new();
    for (is_and, a, b) in [true, false]
        .into_iter()
        .flat_map(|is_and| conditions.iter().flat_map(move |a| conditions.iter().map(move |b| (is_and, a, b))))
    {
        let pair = make(vec![a.clone(), b.clone()], is_and);
        all.push(pair.clone().negated());
        all.extend(conditions.iter().step_by(2).flat_map(|c| {
            let other = make(vec![a.clone(), c.clone()], is_and);
            [
                make(vec![pair.clone(), c.clone()], is_and),
                make(vec![pair.clone(), a.clone()], !is_and),
                make(vec![pair.clone(), other], !is_and),
            ]
        }));
        all.push(pair);
    }
    all
}

/// Builds variants of one condition.
fn of_condition(condition: &Expr, shapes: &Shapes) -> Vec<Expr> {
    let truths = shapes.constants(&SqlType::Boolean);
    let compared = COMPARISONS.into_iter().flat_map(|comparison| {
        truths.iter().map(move |truth| Expr::compare(comparison, condition.clone(), truth.clone()))
    });
    let chosen = truths.iter().flat_map(|value| {
        truths
            .iter()
            .map(move |other| case(vec![(condition.clone(), value.clone())], Some(other.clone()), &SqlType::Boolean))
    });
    let tests =
        [condition.clone().is_null(), condition.clone().negated().is_null(), condition.clone().negated().negated()];
    compared.chain(chosen).chain(tests).collect()
}

/// Values of columns.
type Row = [(ColumnId, Value)];

/// Calls `check` for all values of the columns of an expression.
fn for_all_rows(shapes: &Shapes, expr: &Expr, check: &mut dyn FnMut(&Row)) {
    let columns: Vec<ColumnId> = expr.columns().iter().collect();
    let mut at = vec![0; columns.len()];
    loop {
        let row: Vec<(ColumnId, Value)> =
            columns.iter().zip(&at).map(|(column, &at)| (*column, shapes.values[column][at].clone())).collect();
        check(&row);
        let Some(next) = (0..at.len()).find(|&digit| at[digit] + 1 < shapes.values[&columns[digit]].len()) else {
            return;
        };
        at[..next].fill(0);
        at[next] += 1;
    }
}

/// Asserts that both have the same value for all rows; where one fails, anything goes.
fn assert_same(shapes: &Shapes, rule: &str, before: &Expr, after: &Expr) {
    assert_eq!(before.ty, after.ty, "{rule}: {before} to {after}");
    for_all_rows(shapes, before, &mut |row| {
        let Ok(expected) = evaluate_expr(&shapes.plan, before, row) else { return };
        match evaluate_expr(&shapes.plan, after, row) {
            Ok(actual) => assert_eq!(actual, expected, "{rule}: {before} to {after}, for {row:?}"),
            Err(error) => panic!("{rule}: {before} to {after}, for {row:?}: {error}"),
        }
    });
}

/// Returns a simplifier that trusts the nullability of columns.
fn simplifier() -> Simplifier<'static> {
    Simplifier {
        functions: &TestFunctions,
        known: Default::default(),
        nullable: Default::default(),
        bound: HashMap::new(),
    }
}

#[test]
fn each_rule_keeps_all_values() {
    let shapes = Shapes::new();
    let all = shapes.all();
    for (rule, apply) in RULES {
        let mut applied = 0;
        for before in &all {
            if let Some(after) = apply(before) {
                assert_same(&shapes, rule, before, &after);
                applied += 1;
            }
        }
        assert!(applied > 0, "no expression for the rule {}", rule);
    }
}

#[test]
fn folding_keeps_all_values() {
    let shapes = Shapes::new();
    let mut folded = 0;
    for before in shapes.all() {
        if let Some(after) = fold(&before, &TestFunctions) {
            assert_same(&shapes, "fold", &before, &after);
            folded += 1;
        }
    }
    assert!(folded > 1_000, "{folded}");
}

#[test]
fn all_rules_together_keep_all_values() {
    let shapes = Shapes::new();
    for before in shapes.all() {
        let after = simplifier().simplify(before.clone());
        assert_same(&shapes, "simplify", &before, &after);
        let again = simplifier().simplify(after.clone());
        assert_same(&shapes, "simplify twice", &after, &again);
    }
}

#[test]
fn conditions_stay_true_for_the_same_values() {
    let shapes = Shapes::new();
    for before in shapes.all().into_iter().filter(|expr| expr.ty == SqlType::Boolean) {
        let condition = as_condition(simplifier().simplify(before.clone()));
        let after = Expr::and(simplify_conjuncts(condition.into_conjuncts(), &Ranges::default()));
        for_all_rows(&shapes, &before, &mut |row| {
            let Ok(expected) = evaluate_expr(&shapes.plan, &before, row) else { return };
            let actual = evaluate_expr(&shapes.plan, &after, row).unwrap();
            let is_true = |value| value == Value::Boolean(true);
            assert_eq!(is_true(actual), is_true(expected), "{before} to {after}, for {row:?}");
        });
    }
}

#[test]
fn simple_forms() {
    let shapes = Shapes::new();
    let [number, _] = &shapes.columns[&SqlType::TinyInt];
    let [date, _] = &shapes.columns[&SqlType::Date];
    let constant = |value| Expr::literal(Value::Integer(value), SqlType::TinyInt);
    let compare = |comparison, value| Expr::compare(comparison, number.clone(), constant(value));
    let wide = Expr::literal(Value::Integer(5), SqlType::BigInt);
    let timestamp = Expr::literal(parse_value("1998-09-02 12:00:00", &SqlType::Timestamp).unwrap(), SqlType::Timestamp);
    let equal = Comparison::Equal;
    let cases = [
        (Expr::compare(Comparison::Less, cast(number, &SqlType::BigInt), wide), format!("({number} < 5)")),
        (
            Expr::compare(Comparison::LessOrEqual, cast(date, &SqlType::Timestamp), timestamp),
            format!("({date} <= DATE '1998-09-02')"),
        ),
        (Expr::or([compare(equal, 1), compare(equal, 2), compare(equal, 1)]), format!("({number} IN (1, 2))")),
        (
            Expr::or([
                Expr::and([compare(equal, 1), compare(Comparison::Less, 3)]),
                Expr::and([compare(equal, 1), compare(Comparison::Greater, 7)]),
            ]),
            format!("(({number} = 1) AND (({number} < 3) OR ({number} > 7)))"),
        ),
    ];
    for (before, expected) in cases {
        assert_eq!(simplifier().simplify(before).to_string(), expected);
    }
}

#[test]
fn conjuncts_on_one_value_are_merged() {
    let shapes = Shapes::new();
    let [number, _] = &shapes.columns[&SqlType::TinyInt];
    let compare = |comparison, value| {
        Expr::compare(comparison, number.clone(), Expr::literal(Value::Integer(value), SqlType::TinyInt))
    };
    let (less, more) = (Comparison::Less, Comparison::Greater);
    let one_of =
        in_list(number.clone(), [1, 3, 5].map(|value| Expr::literal(Value::Integer(value), SqlType::TinyInt)).to_vec());
    let cases = [
        (vec![compare(more, 1), compare(more, 3)], format!("({number} > 3)")),
        (vec![compare(more, 3), compare(less, 3)], "FALSE".to_owned()),
        (vec![compare(Comparison::Equal, 5), compare(more, 3)], format!("({number} = 5)")),
        (vec![compare(Comparison::Equal, 5), compare(Comparison::Equal, 6)], "FALSE".to_owned()),
        (vec![one_of.clone(), compare(more, 1)], format!("({number} IN (3, 5))")),
        (vec![one_of, compare(more, 3)], format!("({number} = 5)")),
    ];
    for (conjuncts, expected) in cases {
        assert_eq!(Expr::and(simplify_conjuncts(conjuncts, &Ranges::default())).to_string(), expected);
    }
}
