//! Random expressions of a given type.

use godwit_plan::{Aggregate, Arithmetic, Comparison, Expr, ExprKind, Match, Node, Project, Subquery, SubqueryKind};
use godwit_types::SqlType;

use super::tables::{TYPES, random_value};
use super::{Planner, Visible};
use crate::functions::TestFunctions;

const COMPARISONS: [Comparison; 8] = [
    Comparison::Equal,
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::Distinct,
    Comparison::NotDistinct,
];

impl Planner {
    /// Picks one of the column types.
    pub(super) fn type_of_column(&mut self) -> SqlType {
        self.numbers.pick(&TYPES).clone()
    }

    /// Makes a condition.
    pub(super) fn condition(&mut self, depth: usize, visible: Visible<'_>) -> Expr {
        self.expr(&SqlType::Boolean, depth, visible)
    }

    /// Makes a condition that passes more rows than a random one would.
    pub(super) fn weak_condition(&mut self, visible: Visible<'_>) -> Expr {
        let condition = self.condition(2, visible);
        if visible.local.is_empty() || self.numbers.chance(40) {
            return condition;
        }
        let column = self.numbers.pick(visible.local).clone();
        Expr::or([condition, column.is_null().negated()])
    }

    /// Makes an expression of a type.
    pub(super) fn expr(&mut self, ty: &SqlType, depth: usize, visible: Visible<'_>) -> Expr {
        if depth == 0 || self.numbers.chance(20) {
            return self.leaf(ty, visible);
        }
        match self.numbers.below(12) {
            0 => self.case(ty, depth - 1, visible),
            1 => {
                let all: Vec<Expr> = (0..2).map(|_| self.expr(ty, depth - 1, visible)).collect();
                let nullable = all.iter().all(|expr| expr.nullable);
                Expr::new(ExprKind::Coalesce(all), ty.clone(), nullable)
            }
            2 if self.may_grow() => self.scalar_subquery(ty, depth - 1, visible),
            _ => match ty {
                SqlType::Boolean => self.predicate(depth - 1, visible),
                SqlType::Integer | SqlType::Double => self.number(ty, depth - 1, visible),
                SqlType::Varchar => self.text(depth - 1, visible),
                _ => self.leaf(ty, visible),
            },
        }
    }

    /// Picks a column or makes a constant.
    fn leaf(&mut self, ty: &SqlType, visible: Visible<'_>) -> Expr {
        let from = if self.numbers.chance(35) { visible.outer } else { visible.local };
        let fitting: Vec<&Expr> = from.iter().filter(|column| column.ty == *ty).collect();
        if !fitting.is_empty() && self.numbers.chance(85) {
            return (*self.numbers.pick(&fitting)).clone();
        }
        match ty {
            _ if self.numbers.chance(15) => Expr::null(ty.clone()),
            SqlType::List(element) => {
                let values = (0..self.numbers.below(3)).map(|_| random_value(&mut self.numbers, element)).collect();
                Expr::literal(godwit_types::Value::List(values), ty.clone())
            }
            _ => Expr::literal(random_value(&mut self.numbers, ty), ty.clone()),
        }
    }

    fn case(&mut self, ty: &SqlType, depth: usize, visible: Visible<'_>) -> Expr {
        let mut branches = vec![(self.condition(depth, visible), self.expr(ty, depth, visible))];
        if self.numbers.chance(5) && *ty == SqlType::Varchar {
            let message = Expr::literal(godwit_types::Value::text("reached"), SqlType::Varchar);
            branches.push((self.condition(depth, visible), TestFunctions.call("error", vec![message])));
        }
        let otherwise = self.numbers.chance(70).then(|| Box::new(self.expr(ty, depth, visible)));
        let may_be_null = branches.iter().any(|(_, value)| value.nullable);
        let nullable = may_be_null || otherwise.as_ref().is_none_or(|value| value.nullable);
        Expr::new(ExprKind::Case { branches, otherwise }, ty.clone(), nullable)
    }

    fn number(&mut self, ty: &SqlType, depth: usize, visible: Visible<'_>) -> Expr {
        match self.numbers.below(8) {
            0..4 => {
                let op = *self.numbers.pick(&[Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply]);
                let (a, b) = (self.expr(ty, depth, visible), self.expr(ty, depth, visible));
                let nullable = a.nullable || b.nullable;
                Expr::new(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), ty.clone(), nullable)
            }
            4 => {
                let input = self.expr(ty, depth, visible);
                let nullable = input.nullable;
                Expr::new(ExprKind::Negate(Box::new(input)), ty.clone(), nullable)
            }
            5 => {
                let from = if *ty == SqlType::Double { SqlType::Integer } else { SqlType::Boolean };
                self.expr(&from, depth, visible).cast_to(ty)
            }
            6 => {
                let args = vec![self.expr(ty, depth, visible), self.expr(ty, depth, visible)];
                TestFunctions.call(self.numbers.pick::<&str>(&["greatest", "least", "nullif"]), args)
            }
            _ => self.bound_once(ty, depth, visible),
        }
    }

    /// `LET x := value IN x + x`.
    fn bound_once(&mut self, ty: &SqlType, depth: usize, visible: Visible<'_>) -> Expr {
        let value = self.expr(ty, depth, visible);
        let column = self.plan.add_column("x", ty.clone(), value.nullable);
        let use_of = Box::new(self.column(column, value.nullable));
        let nullable = value.nullable;
        let body = Expr::new(ExprKind::Arithmetic(Arithmetic::Add, use_of.clone(), use_of), ty.clone(), nullable);
        Expr::new(ExprKind::Let { column, value: Box::new(value), body: Box::new(body) }, ty.clone(), nullable)
    }

    fn text(&mut self, depth: usize, visible: Visible<'_>) -> Expr {
        let first = self.expr(&SqlType::Varchar, depth, visible);
        if self.numbers.chance(50) {
            TestFunctions.call(self.numbers.pick::<&str>(&["upper", "lower", "reverse"]), vec![first])
        } else {
            let second = self.expr(&SqlType::Varchar, depth, visible);
            TestFunctions.call(self.numbers.pick::<&str>(&["||", "concat"]), vec![first, second])
        }
    }

    fn predicate(&mut self, depth: usize, visible: Visible<'_>) -> Expr {
        match self.numbers.below(16) {
            0..5 => self.comparison(depth, visible),
            5 => Expr::and([self.condition(depth, visible), self.condition(depth, visible)]),
            6 => Expr::or([self.condition(depth, visible), self.condition(depth, visible)]),
            7 => self.condition(depth, visible).negated(),
            8 => {
                let ty = self.type_of_column();
                self.expr(&ty, depth, visible).is_null()
            }
            9 => {
                let ty = self.type_of_column();
                let value = self.expr(&ty, depth, visible);
                let list: Vec<Expr> = (0..1 + self.numbers.below(3)).map(|_| self.expr(&ty, 0, visible)).collect();
                let nullable = value.nullable || list.iter().any(|item| item.nullable);
                Expr::new(ExprKind::InList(Box::new(value), list), SqlType::Boolean, nullable)
            }
            10 => {
                let input = Box::new(self.expr(&SqlType::Varchar, depth, visible));
                let text = godwit_types::Value::text(*self.numbers.pick::<&str>(&["a%", "_", "%b", "a", "%"]));
                let pattern = Box::new(Expr::literal(text, SqlType::Varchar));
                let nullable = input.nullable;
                let kind = ExprKind::Match { kind: Match::Like, input, pattern, escape: None };
                Expr::new(kind, SqlType::Boolean, nullable)
            }
            _ if !self.may_grow() => self.comparison(depth, visible),
            11 | 12 => self.exists(depth, visible),
            _ => self.quantified(depth, visible),
        }
    }

    pub(super) fn comparison(&mut self, depth: usize, visible: Visible<'_>) -> Expr {
        let ty = self.type_of_column();
        let comparison = *self.numbers.pick(&COMPARISONS);
        let left = self.expr(&ty, depth, visible);
        Expr::compare(comparison, left, self.expr(&ty, depth, visible))
    }

    fn exists(&mut self, depth: usize, visible: Visible<'_>) -> Expr {
        let around = [visible.local, visible.outer].concat();
        let plan = self.correlated(depth, &around);
        let subquery = Subquery { kind: SubqueryKind::Exists, plan, columns: self.plan.outputs(plan) };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, false)
    }

    fn quantified(&mut self, depth: usize, visible: Visible<'_>) -> Expr {
        let around = [visible.local, visible.outer].concat();
        let input = self.correlated(depth, &around);
        let local = self.columns(input);
        let inner = Visible { local: &local, outer: &around };
        let types: Vec<SqlType> = (0..1 + self.numbers.below(8) / 7).map(|_| self.type_of_column()).collect();
        let values: Vec<Expr> = types.iter().map(|ty| self.expr(ty, 1, inner)).collect();
        let columns: Vec<_> = values
            .into_iter()
            .map(|value| (self.plan.add_column("q", value.ty.clone(), value.nullable), value))
            .collect();
        let plan = self.plan.add(Node::Project(Project { input, columns: columns.clone() }));
        let left: Vec<Expr> = types.iter().map(|ty| self.expr(ty, depth.min(1), visible)).collect();
        let comparison = *self.numbers.pick(&COMPARISONS);
        let values_nullable = left.iter().any(|expr| expr.nullable) || columns.iter().any(|(_, expr)| expr.nullable);
        let nullable = !comparison.is_null_safe() && values_nullable;
        let kind = SubqueryKind::Quantified { comparison, all: self.numbers.chance(35), left };
        let columns = columns.into_iter().map(|(column, _)| column).collect();
        let quantified =
            Expr::new(ExprKind::Subquery(Box::new(Subquery { kind, plan, columns })), SqlType::Boolean, nullable);
        if self.numbers.chance(40) { quantified.negated() } else { quantified }
    }

    /// Makes a scalar subquery, usually of at most one row.
    fn scalar_subquery(&mut self, ty: &SqlType, depth: usize, visible: Visible<'_>) -> Expr {
        let around = [visible.local, visible.outer].concat();
        let input = self.correlated(depth, &around);
        let local = self.columns(input);
        let value = self.expr(ty, 1, Visible { local: &local, outer: &around });
        let column = self.plan.add_column("s", ty.clone(), true);
        let plan = if self.numbers.chance(10) {
            self.plan.add(Node::Project(Project { input, columns: vec![(column, value)] }))
        } else if self.numbers.chance(25) {
            let projected = self.plan.add(Node::Project(Project { input, columns: vec![(column, value)] }));
            self.first_rows(projected, &around, Some(1))
        } else if *ty == SqlType::Integer && self.numbers.chance(40) {
            self.counted(input, value, column)
        } else {
            let call = TestFunctions.aggregate_call(self.numbers.pick::<&str>(&["min", "max"]), vec![value]);
            let aggregates = vec![(column, call)];
            let aggregate = Aggregate { input, keys: Vec::new(), sets: None, grouping_id: None, aggregates };
            self.plan.add(Node::Aggregate(aggregate))
        };
        let subquery = Subquery { kind: SubqueryKind::Scalar, plan, columns: vec![column] };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), ty.clone(), true)
    }

    /// `CAST(count(value) AS INTEGER)`, sometimes with more above it: the value for an empty group isn't NULL.
    fn counted(
        &mut self,
        input: godwit_plan::NodeId,
        value: Expr,
        column: godwit_plan::ColumnId,
    ) -> godwit_plan::NodeId {
        let call = TestFunctions.aggregate_call("count", vec![value]);
        let count = self.plan.add_column("n", SqlType::BigInt, false);
        let aggregates = vec![(count, call)];
        let aggregate = Aggregate { input, keys: Vec::new(), sets: None, grouping_id: None, aggregates };
        let aggregated = self.plan.add(Node::Aggregate(aggregate));
        let filtered = if self.numbers.chance(30) {
            let least = Expr::bigint(self.numbers.below(3) as i64);
            let having = Expr::compare(Comparison::LessOrEqual, least, self.column(count, false));
            self.plan.add(Node::Filter { input: aggregated, conditions: vec![having] })
        } else {
            aggregated
        };
        let value = self.column(count, false).cast_to(&SqlType::Integer);
        self.plan.add(Node::Project(Project { input: filtered, columns: vec![(column, value)] }))
    }
}
