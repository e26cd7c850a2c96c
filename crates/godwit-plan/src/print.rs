//! Plans and expressions as text: for EXPLAIN, messages and tests.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use std::sync::Arc;

use godwit_types::{SqlType, Value, format_value};

use crate::{
    AggregateCall, ColumnId, Expr, ExprKind, FrameBound, FrameExclusion, FrameUnits, JoinKind, Node, NodeId, Plan,
    SetOperator, SortKey, SubqueryKind, WindowCall, WindowTarget,
};

impl Plan {
    /// Returns the plan as a tree, one node per line. Columns are shown as `name#id`; the ids identify them.
    pub fn display(&self) -> String {
        let mut text = String::new();
        for (id, shared) in self.used_shared_plans() {
            let _ = writeln!(text, "{id} {}:", shared.name);
            self.write_node(shared.root, 1, &mut text);
        }
        if let Some(root) = self.root {
            self.write_node(root, 0, &mut text);
        }
        text
    }

    /// Returns an expression as text, with the names of columns.
    pub fn display_expr(&self, expr: &Expr) -> String {
        Shown { names: Names::WithIds(self), expr }.to_string()
    }

    /// Returns an expression as a user would write it.
    pub fn explain_expr(&self, expr: &Expr) -> String {
        Shown { names: Names::Alone(self), expr }.to_string()
    }

    /// Returns a column as a user would write it, qualified by its table if it has one.
    pub fn explain_column(&self, column: ColumnId) -> Cow<'_, str> {
        let info = self.column(column);
        match &info.table {
            Some(table) => format!("{table}.{}", info.name).into(),
            None => info.name.as_str().into(),
        }
    }

    fn name(&self, column: ColumnId) -> String {
        format!("{}{column}", self.column(column).name)
    }

    fn names(&self, columns: &[ColumnId]) -> String {
        columns.iter().map(|&column| self.name(column)).collect::<Vec<_>>().join(", ")
    }

    fn exprs<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>, separator: &str) -> String {
        exprs.into_iter().map(|expr| self.display_expr(expr)).collect::<Vec<_>>().join(separator)
    }

    fn keys(&self, keys: &[SortKey]) -> String {
        keys.iter().map(|key| self.key(key)).collect::<Vec<_>>().join(", ")
    }

    fn key(&self, key: &SortKey) -> String {
        let direction = if key.descending { " DESC" } else { "" };
        let nulls = if key.nulls_first { " NULLS FIRST" } else { "" };
        format!("{}{direction}{nulls}", self.display_expr(&key.expr))
    }

    /// Iterative: plans may be as deep as the number of joins in a statement.
    fn write_node(&self, root: NodeId, depth: usize, text: &mut String) {
        let mut open = vec![(root, depth)];
        while let Some((id, depth)) = open.pop() {
            let node = self.node(id);
            let _ = writeln!(text, "{:indent$}{}", "", self.describe(node), indent = depth * 2);
            let mut below = Vec::new();
            node.for_each_expr(&mut |expr| {
                expr.for_each(&mut |part| {
                    if let ExprKind::Subquery(subquery) = &part.kind {
                        below.push(subquery.plan);
                    }
                });
            });
            let below = node.inputs().into_iter().chain(below).collect::<Vec<_>>();
            open.extend(below.into_iter().rev().map(|input| (input, depth + 1)));
        }
    }

    /// Describes a node on one line.
    pub fn describe(&self, node: &Node) -> String {
        match node {
            Node::Values(values) => format!("Values ({}) {} rows", self.names(&values.columns), values.rows.len()),
            Node::Scan(scan) => {
                let columns: Vec<ColumnId> = scan.columns.iter().map(|&(column, _)| column).collect();
                let mut text = format!("Scan {} ({})", scan.relation.name(), self.names(&columns));
                if !scan.filters.is_empty() {
                    text += &format!(" where {}", self.exprs(&scan.filters, " AND "));
                }
                text
            }
            Node::Project(project) => {
                let column = |(column, expr): &(ColumnId, Expr)| match expr.as_column() == Some(*column) {
                    true => self.name(*column),
                    false => format!("{} := {}", self.name(*column), self.display_expr(expr)),
                };
                format!("Project {}", project.columns.iter().map(column).collect::<Vec<_>>().join(", "))
            }
            Node::Filter { conditions, .. } => format!("Filter {}", self.exprs(conditions, " AND ")),
            Node::Join(join) => {
                let mut text = self.join_kind(&join.kind);
                if !join.conditions.is_empty() {
                    text += &format!(" on {}", self.exprs(&join.conditions, " AND "));
                }
                text
            }
            Node::Aggregate(aggregate) => {
                let keys = aggregate.keys.iter().map(|(column, key)| match key.as_column() == Some(*column) {
                    true => self.name(*column),
                    false => format!("{} := {}", self.name(*column), self.display_expr(key)),
                });
                let calls = aggregate.aggregates.iter();
                let calls = calls.map(|(column, call)| format!("{} := {}", self.name(*column), self.aggregate(call)));
                let sets = aggregate.sets.as_ref().map_or(String::new(), |sets| format!(" sets {sets:?}"));
                let by = keys.collect::<Vec<_>>().join(", ");
                format!("Aggregate by [{by}]{sets} {}", calls.collect::<Vec<_>>().join(", ")).trim_end().to_owned()
            }
            Node::Window(window) => {
                let calls = window.calls.iter();
                let calls = calls.map(|(column, call)| format!("{} := {}", self.name(*column), self.window(call)));
                format!("Window {}", calls.collect::<Vec<_>>().join(", "))
            }
            Node::Sort { keys, .. } => format!("Sort {}", self.keys(keys)),
            Node::Limit(limit) => {
                let part = |name: &str, expr: &Option<Expr>| {
                    expr.as_ref().map_or(String::new(), |expr| format!(" {name} {}", self.display_expr(expr)))
                };
                let ties = if limit.with_ties { " with ties" } else { "" };
                let percent = if limit.percent { " percent" } else { "" };
                format!("Limit{}{percent}{}{ties}", part("count", &limit.count), part("offset", &limit.offset))
            }
            Node::SetOperation(operation) => {
                let name = match operation.operator {
                    SetOperator::Union => "Union",
                    SetOperator::Intersect => "Intersect",
                    SetOperator::Except => "Except",
                };
                let all = if operation.all { " all" } else { "" };
                let inputs = operation.inputs.iter().map(|(_, columns)| format!("({})", self.names(columns)));
                let inputs = inputs.collect::<Vec<_>>().join(", ");
                format!("{name}{all} ({}) of {inputs}", self.names(&operation.columns))
            }
            Node::Unnest(unnest) => {
                let list = |list: &crate::UnnestedList| {
                    format!("{} := {}", self.name(list.column), self.display_expr(&list.list))
                };
                let outer = if unnest.outer { " outer" } else { "" };
                format!("Unnest{outer} {}", unnest.lists.iter().map(list).collect::<Vec<_>>().join(", "))
            }
            Node::Recursive(recursive) => {
                let all = if recursive.all { " all" } else { "" };
                format!("Recursive{all} {} ({})", recursive.working, self.names(&recursive.columns))
            }
            Node::WorkingRows { of, columns } => format!("WorkingRows of {of} ({})", self.names(columns)),
            Node::Use(used) => {
                let columns = used.columns.iter().map(|&(own, inner)| format!("{} := {inner}", self.name(own)));
                format!("Use {} ({})", used.shared, columns.collect::<Vec<_>>().join(", "))
            }
            Node::Sample(sample) => format!("Sample {:?}", sample.size),
        }
    }

    fn join_kind(&self, kind: &JoinKind) -> String {
        match kind {
            JoinKind::Mark { mark, compare } if compare.is_empty() => format!("Join Mark {}", self.name(*mark)),
            JoinKind::Mark { mark, compare } => {
                format!("Join Mark {} := {}", self.name(*mark), self.exprs(compare, " AND "))
            }
            JoinKind::AsOf { outer, comparison, left, right } => {
                let outer = if *outer { " outer" } else { "" };
                let (left, right) = (self.display_expr(left), self.display_expr(right));
                format!("Join AsOf{outer} {left} {} {right}", comparison.symbol())
            }
            other => format!("Join {other:?}"),
        }
    }

    fn aggregate(&self, call: &AggregateCall) -> String {
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let args = if call.args.is_empty() { "*".to_owned() } else { self.exprs(&call.args, ", ") };
        let order = match call.order_by.is_empty() {
            true => String::new(),
            false => format!(" ORDER BY {}", self.keys(&call.order_by)),
        };
        let filter = call.filter.as_ref();
        let filter = filter.map_or(String::new(), |filter| format!(" FILTER (WHERE {})", self.display_expr(filter)));
        format!("{}({distinct}{args}{order}){filter}", call.function.name)
    }

    fn window(&self, call: &WindowCall) -> String {
        let mut text = format!("{} OVER (", self.window_function(call));
        if !call.partition_by.is_empty() {
            text += &format!("PARTITION BY {} ", self.exprs(&call.partition_by, ", "));
        }
        if !call.order_by.is_empty() {
            text += &format!("ORDER BY {} ", self.keys(&call.order_by));
        }
        let units = match call.frame.units {
            FrameUnits::Rows => "ROWS",
            FrameUnits::Range => "RANGE",
            FrameUnits::Groups => "GROUPS",
        };
        let exclude = match call.frame.exclude {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        };
        text + &format!("{units} {} TO {}{exclude})", self.bound(&call.frame.start), self.bound(&call.frame.end))
    }

    fn window_function(&self, call: &WindowCall) -> String {
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let args = match call.function {
            WindowTarget::Aggregate(_) if call.args.is_empty() => "*".to_owned(),
            _ => self.exprs(&call.args, ", "),
        };
        let mut text = format!("{}({distinct}{args}", call.name());
        if !call.argument_order.is_empty() {
            text += &format!(" ORDER BY {}", self.keys(&call.argument_order));
        }
        text += if call.ignore_nulls { ") IGNORE NULLS" } else { ")" };
        if let Some(filter) = &call.filter {
            text += &format!(" FILTER (WHERE {})", self.display_expr(filter));
        }
        text
    }

    fn bound(&self, bound: &FrameBound) -> String {
        match bound {
            FrameBound::UnboundedPreceding => "START".to_owned(),
            FrameBound::Preceding(distance) => format!("-{}", self.display_expr(distance)),
            FrameBound::CurrentRow => "CURRENT".to_owned(),
            FrameBound::Following(distance) => format!("+{}", self.display_expr(distance)),
            FrameBound::UnboundedFollowing => "END".to_owned(),
        }
    }
}

/// How columns and parameters are shown.
#[derive(Clone, Copy)]
enum Names<'a> {
    /// By id only: there is no plan that knows their names.
    Ids,
    /// `name#id`.
    WithIds(&'a Plan),
    /// `name`.
    Alone(&'a Plan),
    /// `name`, from a plan that isn't at hand.
    Listed(&'a ColumnNames),
}

/// The names of a plan's columns, for messages.
#[derive(Debug, Clone, Default)]
pub struct ColumnNames(pub(crate) Arc<[Box<str>]>);

impl Expr {
    /// Returns the expression as text with names for those columns that have one.
    pub fn display_with<'a>(&'a self, names: &'a ColumnNames) -> impl Display + 'a {
        Shown { names: Names::Listed(names), expr: self }
    }
}

/// An expression to be printed.
struct Shown<'a> {
    names: Names<'a>,
    expr: &'a Expr,
}

/// Prints ids in place of column names.
impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&Shown { names: Names::Ids, expr: self }, f)
    }
}

impl<'a> Shown<'a> {
    fn part(&self, expr: &'a Expr) -> Shown<'a> {
        Shown { names: self.names, expr }
    }

    fn list(&self, f: &mut fmt::Formatter<'_>, exprs: &'a [Expr], separator: &str) -> fmt::Result {
        for (index, expr) in exprs.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { separator }, self.part(expr))?;
        }
        Ok(())
    }

    fn column(&self, f: &mut fmt::Formatter<'_>, column: ColumnId) -> fmt::Result {
        match self.names {
            Names::Ids => write!(f, "{column}"),
            Names::WithIds(plan) => f.write_str(&plan.name(column)),
            Names::Alone(plan) => f.write_str(&plan.explain_column(column)),
            Names::Listed(ColumnNames(names)) => match names.get(column.index()) {
                Some(name) => f.write_str(name),
                None => write!(f, "{column}"),
            },
        }
    }

    fn subquery(&self, f: &mut fmt::Formatter<'_>, subquery: &'a crate::Subquery) -> fmt::Result {
        match &subquery.kind {
            SubqueryKind::Scalar => write!(f, "(subquery {})", subquery.plan),
            SubqueryKind::Exists => write!(f, "EXISTS (subquery {})", subquery.plan),
            SubqueryKind::Quantified { comparison, all, left } => {
                f.write_str("(")?;
                self.list(f, left, ", ")?;
                let quantifier = if *all { "ALL" } else { "ANY" };
                write!(f, ") {} {quantifier} (subquery {})", comparison.symbol(), subquery.plan)
            }
        }
    }
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expr.kind {
            ExprKind::Column(column) => self.column(f, *column),
            ExprKind::Literal(value) => write_literal(f, value, &self.expr.ty),
            ExprKind::Parameter(parameter) => match self.names {
                Names::WithIds(plan) | Names::Alone(plan) => write!(f, "${}", plan.parameter_info(*parameter).name),
                Names::Ids | Names::Listed(_) => write!(f, "{parameter}"),
            },
            ExprKind::Cast { input, lenient } => {
                let name = if *lenient { "TRY_CAST" } else { "CAST" };
                write!(f, "{name}({} AS {})", self.part(input), self.expr.ty)
            }
            ExprKind::Compare(comparison, a, b) => {
                write!(f, "({} {} {})", self.part(a), comparison.symbol(), self.part(b))
            }
            ExprKind::And(all) => {
                f.write_str("(")?;
                self.list(f, all, " AND ")?;
                f.write_str(")")
            }
            ExprKind::Or(all) => {
                f.write_str("(")?;
                self.list(f, all, " OR ")?;
                f.write_str(")")
            }
            ExprKind::Not(input) => write!(f, "(NOT {})", self.part(input)),
            ExprKind::IsNull(input) => write!(f, "({} IS NULL)", self.part(input)),
            ExprKind::Arithmetic(op, a, b) => write!(f, "({} {} {})", self.part(a), op.symbol(), self.part(b)),
            ExprKind::Try(input) => write!(f, "try({})", self.part(input)),
            ExprKind::Negate(input) => write!(f, "(- {})", self.part(input)),
            ExprKind::Case { branches, otherwise } => {
                f.write_str("CASE")?;
                for (condition, value) in branches {
                    write!(f, " WHEN {} THEN {}", self.part(condition), self.part(value))?;
                }
                if let Some(value) = otherwise {
                    write!(f, " ELSE {}", self.part(value))?;
                }
                f.write_str(" END")
            }
            ExprKind::Coalesce(all) => {
                f.write_str("coalesce(")?;
                self.list(f, all, ", ")?;
                f.write_str(")")
            }
            ExprKind::InList(value, list) => {
                write!(f, "({} IN (", self.part(value))?;
                self.list(f, list, ", ")?;
                f.write_str("))")
            }
            ExprKind::Match { kind, input, pattern, escape } => {
                write!(f, "({} {} {}", self.part(input), kind.symbol(), self.part(pattern))?;
                if let Some(escape) = escape {
                    write!(f, " ESCAPE '{escape}'")?;
                }
                f.write_str(")")
            }
            ExprKind::Call(function, args) => {
                write!(f, "{}(", function.name)?;
                self.list(f, args, ", ")?;
                f.write_str(")")
            }
            ExprKind::Let { column, value, body } => {
                write!(f, "(LET ")?;
                self.column(f, *column)?;
                write!(f, " := {} IN {})", self.part(value), self.part(body))
            }
            ExprKind::Lambda(parameters, body) => {
                f.write_str("(")?;
                for (index, &parameter) in parameters.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    self.column(f, parameter)?;
                }
                write!(f, ") -> {}", self.part(body))
            }
            ExprKind::Subquery(subquery) => self.subquery(f, subquery),
        }
    }
}

/// Prints a constant as SQL.
fn write_literal(f: &mut fmt::Formatter<'_>, value: &Value, ty: &SqlType) -> fmt::Result {
    match value {
        Value::Null => f.write_str("NULL"),
        Value::Boolean(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
        Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
        Value::Integer(value) if ty.is_integer() => write!(f, "{value}"),
        Value::Float(value) => write!(f, "{value:?}"),
        Value::List(values) => {
            f.write_str("[")?;
            for (index, value) in values.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { ", " })?;
                write_literal(f, value, ty.element().unwrap_or(ty))?;
            }
            f.write_str("]")
        }
        Value::Integer(_) if ty.is_decimal() => f.write_str(&format_value(value, ty)),
        other => write!(f, "{ty} '{}'", format_value(other, ty)),
    }
}
