//! Expressions over the tables of [`World`]: their bound trees, their errors, and some of their values.

mod errors;
mod trees;
mod values;

use std::sync::Arc;

use godwit_common::{Error, Result, Span};
use godwit_plan::{
    Aggregate, ColumnId, Expr, FunctionRegistry, Node, Relation, RelationColumn, TableStatistics, Window,
};
use godwit_reference::TestFunctions;
use godwit_syntax::ast;
use godwit_types::{SqlType, Value, format_value};

use crate::binder::{Clause, Collected, ExprContext};
use crate::scope::{Scope, ScopeRelation, VisibleColumn};
use crate::{Binder, Environment, Macro, Named};

/// A table without rows.
#[derive(Debug)]
struct Table {
    name: &'static str,
    columns: Vec<RelationColumn>,
    statistics: TableStatistics,
}

impl Table {
    /// Columns are `name type` or `name type not null`, separated by semicolons.
    fn new(name: &'static str, columns: &str) -> Self {
        let column = |text: &str| {
            let (name, ty) = text.trim().split_once(' ').expect("a name and a type");
            let (ty, nullable) = ty.strip_suffix(" not null").map_or((ty, true), |ty| (ty, false));
            RelationColumn {
                name: name.to_owned(),
                ty: type_of(ty),
                nullable,
                hidden: name == "rowid",
                collation: None,
            }
        };
        let columns: Vec<RelationColumn> = columns.split(';').map(column).collect();
        let statistics = TableStatistics::of_rows(0, true, columns.len());
        Self { name, columns, statistics }
    }
}

impl Relation for Table {
    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn statistics(&self) -> &TableStatistics {
        &self.statistics
    }

    fn evaluates_filters(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

fn type_of(text: &str) -> SqlType {
    let written = godwit_syntax::parse_data_type(text).expect("the tests' types can be read");
    Binder::new(Arc::new(World)).data_type(&written).expect("the tests' types exist")
}

/// The environment of the tests' expressions.
struct World;

impl Environment for World {
    fn named(&self, parts: &[&str]) -> Result<Option<Named>> {
        let table = match parts {
            ["u"] => Table::new("u", "x INTEGER; y VARCHAR"),
            _ => return Ok(None),
        };
        Ok(Some(Named::Relation(Arc::new(table), vec!["main".to_owned(), "u".to_owned()])))
    }

    fn functions(&self) -> &dyn FunctionRegistry {
        &TestFunctions
    }

    fn find_macro(&self, parts: &[&str]) -> Option<Arc<Macro>> {
        let forms: &[(&[&str], &str)] = match parts {
            ["twice"] => &[(&["x"], "x + x")],
            ["plus"] => &[(&["x"], "x + 1"), (&["x", "y := 10"], "x + y")],
            ["total"] => &[(&["x"], "sum(x) + count(*)")],
            ["loops"] => &[(&["x"], "loops(x)")],
            ["broken"] => &[(&["x"], "x + missing")],
            ["greatest_x"] => &[(&["y"], "(SELECT max(x) FROM u WHERE u.y = y)")],
            _ => return None,
        };
        let overloads = forms.iter().map(|(parameters, body)| overload(parameters, body)).collect();
        Some(Arc::new(Macro { name: parts[0].to_owned(), overloads, environment: Arc::new(World) }))
    }

    fn named_type(&self, parts: &[&str]) -> Option<SqlType> {
        (parts == ["mood"]).then(|| type_of("ENUM('sad', 'ok')"))
    }

    fn variable(&self, name: &str) -> Option<(Value, SqlType)> {
        (name == "answer").then_some((Value::Integer(42), SqlType::Integer))
    }

    fn session_value(&self, name: &str) -> Option<(Value, SqlType)> {
        (name == "current_schema").then(|| (Value::text("main"), SqlType::Varchar))
    }

    fn unknown_table(&self, name: &str) -> Error {
        Error::user(format!("no table or view named {name}"))
    }

    fn table_function_names(&self) -> Vec<String> {
        vec!["read_csv".to_owned()]
    }
}

fn overload(parameters: &[&str], body: &str) -> ast::MacroOverload {
    let expression = |text: &str| godwit_syntax::parse_expression(text).expect("the tests' macros can be read");
    let parameter = |text: &&str| {
        let (name, default) = text.split_once(" := ").map_or((*text, None), |(name, value)| (name, Some(value)));
        let name = ast::Ident::new(name, Span::NONE);
        ast::MacroParameter { name, data_type: None, default: default.map(expression) }
    };
    ast::MacroOverload {
        parameters: parameters.iter().map(parameter).collect(),
        body: ast::MacroBody::Expr(expression(body)),
        span: Span::NONE,
    }
}

/// The tables `t` and `s1.t`, inside a query over `o`.
const TABLES: [(&[&str], &str); 2] = [
    (
        &["main", "t"],
        "a INTEGER not null; b BIGINT; s VARCHAR; f DOUBLE; n DECIMAL(9,2); d DATE; ts TIMESTAMP; flag BOOLEAN; \
         l INTEGER[]; st STRUCT(x INTEGER, y VARCHAR); m MAP(VARCHAR, INTEGER); ub UBIGINT; e ENUM('lo', 'hi'); \
         iv INTERVAL; o INTEGER; rowid BIGINT not null",
    ),
    (&["s1", "t"], "b BIGINT; c INTEGER"),
];

/// Calls `bind` with a binder and the scope of the tables.
fn with_scope<T>(bind: impl FnOnce(&mut Binder, &Scope<'_>) -> T) -> T {
    let mut binder = Binder::new(Arc::new(World));
    let mut outer = Scope::default();
    add_table(&mut binder, &mut outer, &["main", "o"], "d INTEGER; z INTEGER");
    let mut scope = Scope { outer: Some(&outer), ..Scope::default() };
    for (name, columns) in TABLES {
        add_table(&mut binder, &mut scope, name, columns);
    }
    let dice = binder.call_scalar("random", Vec::new(), Span::NONE).expect("the function is there");
    scope.aliases = vec![("more".into(), Expr::bigint(7)), ("dice".into(), dice)];
    bind(&mut binder, &scope)
}

fn add_table(binder: &mut Binder, scope: &mut Scope<'_>, name: &[&str], columns: &str) {
    let table = Table::new("", columns);
    let own: Arc<str> = name[name.len() - 1].into();
    let column = |column: &RelationColumn| VisibleColumn {
        name: column.name.as_str().into(),
        column: binder.plan.add_column(column.name.as_str(), column.ty.clone(), column.nullable),
        hidden: column.hidden,
        relation: Some(own.clone()),
    };
    let columns: Vec<VisibleColumn> = table.columns.iter().map(column).collect();
    scope.visible.extend(columns.iter().cloned());
    scope.relations.push(ScopeRelation { name: name.iter().map(|&part| part.into()).collect(), columns });
}

/// Returns an expression in a clause, its type, and what it collects; the named windows are `w` and `f`.
fn bound_in(text: &str, clause: Clause) -> Result<String> {
    let expr = godwit_syntax::parse_expression(text)?;
    let windows = godwit_syntax::parse_query(
        "SELECT 1 WINDOW p AS (PARTITION BY a), w AS (p ORDER BY c), f AS (ORDER BY c ROWS 1 PRECEDING)",
    )?;
    let ast::SetExprKind::Select(select) = windows.body.kind else { panic!("it is a SELECT") };
    with_scope(|binder, scope| {
        let mut collected = Collected::default();
        let mut cx = ExprContext { scope, clause, collected: &mut collected, windows: &select.windows };
        let bound = binder.expr(&expr, &mut cx)?;
        let mut shown = binder.plan.display_expr(&bound);
        if bound.ty != SqlType::Boolean {
            shown += &format!(" :: {}", bound.ty);
        }
        if !bound.nullable {
            shown += " not null";
        }
        Ok(shown + &set_aside(binder, collected))
    })
}

fn set_aside(binder: &mut Binder, collected: Collected) -> String {
    let mut text = String::new();
    let input = binder.single_row();
    if !collected.aggregates.is_empty() {
        let aggregates = collected.aggregates;
        let node = Aggregate { input, keys: Vec::new(), sets: None, grouping_id: None, aggregates };
        text += &format!(" | {}", binder.plan.describe(&Node::Aggregate(node)));
    }
    if !collected.windows.is_empty() {
        text += &format!(" | {}", binder.plan.describe(&Node::Window(Window { input, calls: collected.windows })));
    }
    let lists = collected.unnested.iter().map(|(_, list)| binder.plan.display_expr(list));
    text += &lists.map(|list| format!(" | Unnest {list}")).collect::<String>();
    text
}

/// Returns the rows of a query without tables, as text.
fn rows_of(text: &str) -> Result<String> {
    let query = godwit_syntax::parse_query(text)?;
    let mut binder = Binder::new(Arc::new(World));
    binder.query(&query)?;
    let plan = binder.plan;
    let rows = godwit_reference::evaluate(&plan, &[])?;
    let types: Vec<SqlType> = plan.output.iter().map(|column| type_in(&plan, column.column)).collect();
    let row = |row: &Vec<Value>| {
        let values = row.iter().zip(&types).map(|(value, ty)| format_value(value, ty));
        values.collect::<Vec<_>>().join(" ")
    };
    Ok(rows.iter().map(row).collect::<Vec<_>>().join(" / "))
}

fn type_in(plan: &godwit_plan::Plan, column: ColumnId) -> SqlType {
    plan.column(column).ty.clone()
}
