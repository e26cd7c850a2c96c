//! Random nodes whose result depends on an order: sorts by all columns make it unique.

use godwit_plan::{
    AggregateCall, Comparison, Expr, Frame, FrameBound, FrameExclusion, FrameUnits, Limit, Node, NodeId, Project,
    Recursive, SortKey, Window, WindowCall,
};
use godwit_types::{SqlType, Value};

use super::{Planner, Visible};
use crate::functions::TestFunctions;

impl Planner {
    fn sort_key(&mut self, expr: Expr) -> SortKey {
        SortKey { expr, descending: self.numbers.chance(50), nulls_first: self.numbers.chance(50) }
    }

    /// Sorts by all columns, each in a random direction.
    pub(super) fn sorted(&mut self, input: NodeId) -> NodeId {
        let keys = self.columns(input).into_iter().map(|column| self.sort_key(column)).collect();
        self.plan.add(Node::Sort { input, keys })
    }

    /// Takes the first rows of an order; at most `count`, if given.
    pub(super) fn first_rows(&mut self, input: NodeId, outer: &[Expr], count: Option<i64>) -> NodeId {
        let local = self.columns(input);
        let mut keys = Vec::new();
        if self.numbers.chance(30) {
            let ty = self.type_of_column();
            let first = self.expr(&ty, 2, Visible { local: &local, outer });
            keys.push(self.sort_key(first));
        }
        let all_columns = count.is_some() || self.numbers.chance(80);
        let with_ties = !all_columns;
        if all_columns {
            keys.extend(local.into_iter().map(|column| self.sort_key(column)));
        } else if keys.is_empty() {
            keys.extend(local.into_iter().take(1).map(|column| self.sort_key(column)));
        }
        let sorted = self.plan.add(Node::Sort { input, keys });
        let percent = count.is_none() && self.numbers.chance(10);
        let number = |planner: &mut Self| Expr::bigint(planner.numbers.below(4) as i64);
        let count = match count {
            Some(count) => Some(Expr::bigint(count)),
            None if percent => Some(Expr::literal(Value::Float(50.0), SqlType::Double)),
            None if self.numbers.chance(15) => Some(self.expr_of_count(outer)),
            None => Some(number(self)),
        };
        let offset = (self.numbers.chance(20) && !with_ties).then(|| number(self));
        self.plan.add(Node::Limit(Limit { input: sorted, offset, count, with_ties, percent }))
    }

    /// Makes a number of rows that depends on enclosing queries.
    fn expr_of_count(&mut self, outer: &[Expr]) -> Expr {
        let value = self.expr(&SqlType::Integer, 1, Visible { local: &[], outer });
        let zero = Expr::literal(Value::Integer(0), SqlType::Integer);
        TestFunctions.call("greatest", vec![value, zero]).cast_to(&SqlType::BigInt)
    }

    /// Makes an aggregate that doesn't depend on the order of rows.
    pub(super) fn aggregate_call(&mut self, visible: Visible<'_>) -> AggregateCall {
        let name = *self.numbers.pick(&[
            "count",
            "count",
            "sum",
            "sum",
            "avg",
            "min",
            "max",
            "bool_and",
            "bool_or",
            "list",
            "string_agg",
            "first",
            "median",
        ]);
        let ty = match name {
            "sum" | "avg" | "median" => self.numbers.pick(&[SqlType::Integer, SqlType::Double]).clone(),
            "bool_and" | "bool_or" => SqlType::Boolean,
            "string_agg" => SqlType::Varchar,
            _ => self.type_of_column(),
        };
        let args =
            if name == "count" && self.numbers.chance(50) { Vec::new() } else { vec![self.expr(&ty, 1, visible)] };
        let mut call = TestFunctions.aggregate_call(name, args);
        call.distinct = !call.args.is_empty() && self.numbers.chance(20);
        if self.numbers.chance(25) {
            call.filter = Some(self.condition(1, visible));
        }
        if call.function.depends_on_order {
            let arg = call.args[0].clone();
            call.order_by = vec![self.sort_key(arg)];
        }
        call
    }

    pub(super) fn window(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let input = self.relation(depth, outer);
        let local = self.columns(input);
        let visible = Visible { local: &local, outer };
        let mut calls = Vec::new();
        for _ in 0..1 + self.numbers.below(2) {
            let call = self.window_call(visible);
            calls.push((self.plan.add_column("w", call.ty.clone(), call.nullable), call));
        }
        self.plan.add(Node::Window(Window { input, calls }))
    }

    fn window_call(&mut self, visible: Visible<'_>) -> WindowCall {
        let mut partition_by = Vec::new();
        if self.numbers.chance(50) {
            let ty = self.type_of_column();
            partition_by.push(self.expr(&ty, 1, visible));
        }
        let mut order_by: Vec<SortKey> = Vec::new();
        if self.numbers.chance(40) {
            let first = self.expr(&SqlType::Integer, 1, visible);
            order_by.push(self.sort_key(first));
        }
        let every_column = |planner: &mut Self, order_by: &mut Vec<SortKey>| {
            order_by.extend(visible.local.iter().map(|column| planner.sort_key(column.clone())));
        };
        let ty = self.type_of_column();
        let value = self.expr(&ty, 1, visible);
        match self.numbers.below(4) {
            0 => {
                let name = *self.numbers.pick(&["rank", "dense_rank", "percent_rank", "cume_dist"]);
                TestFunctions.window_call(name, Vec::new(), partition_by, order_by)
            }
            1 => {
                every_column(self, &mut order_by);
                let name = *self.numbers.pick(&["row_number", "lag", "lead", "first_value", "last_value"]);
                let args = if name == "row_number" { Vec::new() } else { vec![value] };
                let mut call = TestFunctions.window_call(name, args, partition_by, order_by);
                call.ignore_nulls = name != "row_number" && self.numbers.chance(30);
                if name == "last_value" {
                    call.frame = self.frame(FrameUnits::Rows, visible);
                }
                call
            }
            _ => {
                let units = *self.numbers.pick(&[FrameUnits::Rows, FrameUnits::Range, FrameUnits::Groups]);
                match units {
                    FrameUnits::Rows => every_column(self, &mut order_by),
                    FrameUnits::Groups if order_by.is_empty() => every_column(self, &mut order_by),
                    _ => {}
                }
                let name = *self.numbers.pick(&["count", "min", "max"]);
                let mut call = TestFunctions.window_call(name, vec![value], partition_by, order_by);
                let has_key = call.order_by.len() == 1;
                if units != FrameUnits::Range || has_key {
                    call.frame = self.frame(units, visible);
                }
                if self.numbers.chance(20) {
                    call.filter = Some(self.condition(1, visible));
                }
                call
            }
        }
    }

    fn frame(&mut self, units: FrameUnits, visible: Visible<'_>) -> Frame {
        let ty = if units == FrameUnits::Range { SqlType::Integer } else { SqlType::BigInt };
        let before = FrameBound::Preceding(Box::new(self.distance(&ty, visible)));
        let behind = FrameBound::Following(Box::new(self.distance(&ty, visible)));
        let start = self.numbers.pick(&[FrameBound::UnboundedPreceding, before, FrameBound::CurrentRow]).clone();
        let end = self.numbers.pick(&[FrameBound::CurrentRow, behind, FrameBound::UnboundedFollowing]).clone();
        let exclusions = [
            FrameExclusion::NoOthers,
            FrameExclusion::NoOthers,
            FrameExclusion::CurrentRow,
            FrameExclusion::Group,
            FrameExclusion::Ties,
        ];
        Frame { units, start, end, exclude: *self.numbers.pick(&exclusions) }
    }

    /// Makes the distance of a frame bound, which may depend on the row.
    fn distance(&mut self, ty: &SqlType, visible: Visible<'_>) -> Expr {
        let number = |planner: &mut Self| Expr::literal(Value::Integer(planner.numbers.below(3) as i128), ty.clone());
        if self.numbers.chance(50) {
            return number(self);
        }
        let branches = vec![(self.condition(1, visible), number(self))];
        let otherwise = Some(Box::new(number(self)));
        Expr::new(godwit_plan::ExprKind::Case { branches, otherwise }, ty.clone(), false)
    }

    /// Makes a recursion that a counter ends: the first column grows in each round, up to 2.
    pub(super) fn recursion(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        if self.working.is_some() {
            return self.relation(depth, outer);
        }
        let other = self.type_of_column();
        let (base, base_columns) = self.of_types(std::slice::from_ref(&other), depth.min(1), outer);
        let one = Expr::literal(Value::Integer(1), SqlType::Integer);
        let start = self.plan.add_column("n", SqlType::Integer, false);
        let nullable = self.plan.nullable_columns(base).contains(base_columns[0]);
        let value = self.column(base_columns[0], nullable);
        let columns = vec![(start, one.clone()), (base_columns[0], value)];
        let base = self.plan.add(Node::Project(Project { input: base, columns }));
        let working = self.plan.add_column("r", SqlType::Integer, false);
        let columns =
            vec![self.plan.add_column("n", SqlType::Integer, false), self.plan.add_column("v", other.clone(), true)];
        let rows: Vec<_> = columns.iter().map(|&column| self.plan.copy_column(column)).collect();
        let read = self.plan.add(Node::WorkingRows { of: working, columns: rows.clone() });
        let counter = self.column(rows[0], false);
        let two = Expr::literal(Value::Integer(2), SqlType::Integer);
        let conditions = vec![Expr::compare(Comparison::LessOrEqual, counter.clone(), two)];
        let mut step = self.plan.add(Node::Filter { input: read, conditions });
        if self.numbers.chance(60) {
            step = self.joined_step(step, (working, columns.clone()), outer);
        }
        let local = self.columns(step);
        let value = self.expr(&other, 1, Visible { local: &local, outer });
        let next = self.plan.add_column("n", SqlType::Integer, false);
        let made = self.plan.add_column("v", other, value.nullable);
        let sum = godwit_plan::ExprKind::Arithmetic(godwit_plan::Arithmetic::Add, Box::new(counter), Box::new(one));
        let sum = Expr::new(sum, SqlType::Integer, false);
        let step = self.plan.add(Node::Project(Project { input: step, columns: vec![(next, sum), (made, value)] }));
        self.plan.add(Node::Recursive(Recursive {
            working,
            columns,
            base: (base, vec![start, base_columns[0]]),
            step: (step, vec![next, made]),
            all: self.numbers.chance(50),
        }))
    }

    /// Joins the rows of a round with a relation that may read them as well.
    fn joined_step(
        &mut self,
        left: NodeId,
        working: (godwit_plan::ColumnId, Vec<godwit_plan::ColumnId>),
        outer: &[Expr],
    ) -> NodeId {
        self.working = Some(working);
        let around = [self.columns(left).as_slice(), outer].concat();
        let right = self.correlated(1, &around);
        self.working = None;
        let kind = self.numbers.pick(&[godwit_plan::JoinKind::Inner, godwit_plan::JoinKind::Semi]).clone();
        let local = [self.columns(left), self.columns(right)].concat();
        let conditions = vec![self.comparison(0, Visible { local: &local, outer })];
        self.plan.add(Node::Join(godwit_plan::Join { kind, left, right, conditions }))
    }
}
