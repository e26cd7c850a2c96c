//! SQL expressions over columns c0, c1, ….

use std::sync::Arc;

use godwit_bind::{Binder, Environment, Named};
use godwit_common::{Error, Result};
use godwit_functions::Registry;
use godwit_plan::{Expr, FunctionRegistry, Node, Relation};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value, parse_value};

use crate::rows::Rows;

/// Columns of a type and their values, as text.
pub type Columns<'a> = [(SqlType, &'a [&'a str])];

/// Returns the rows and the expressions over them.
pub fn bound(columns: &Columns<'_>, exprs: &[&str]) -> (Rows, Vec<Expr>) {
    let value = |ty: &SqlType, text: &str| match text {
        "NULL" => Value::Null,
        text => parse_value(text, ty).unwrap(),
    };
    let row = |at: usize| columns.iter().map(|(ty, texts)| value(ty, texts[at])).collect::<Vec<_>>();
    let values: Vec<Vec<Value>> = (0..columns[0].1.len()).map(row).collect();
    let names: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
    let typed: Vec<(&str, SqlType)> =
        names.iter().zip(columns).map(|(name, (ty, _))| (name.as_str(), ty.clone())).collect();
    let world =
        World { table: Arc::new(MemoryTable::new("t", &typed, values.clone())), functions: Registry::default() };
    let mut binder = Binder::new(Arc::new(world));
    let sql = format!("SELECT {} FROM t", exprs.join(", "));
    binder.query(&godwit_syntax::parse_query(&sql).unwrap()).unwrap_or_else(|error| panic!("{}", error.locate(&sql)));
    let plan = binder.plan;
    let Node::Project(project) = plan.node(plan.root.unwrap()) else { panic!("{sql} is no projection") };
    let Node::Scan(scan) = plan.node(project.input) else { panic!("{sql} is no projection of a table") };
    let columns = scan.columns.iter().map(|(column, _)| *column).collect();
    let exprs = project.columns.clone();
    let exprs = plan.output.iter().map(|output| {
        let computed = exprs.iter().find(|(column, _)| *column == output.column);
        computed.map(|(_, expr)| expr.clone()).expect("the projection makes the output")
    });
    let exprs = exprs.collect();
    let types = typed.into_iter().map(|(_, ty)| ty).collect();
    (Rows { plan, columns, types, values }, exprs)
}

/// One table.
struct World {
    table: Arc<dyn Relation>,
    functions: Registry,
}

impl Environment for World {
    fn named(&self, _parts: &[&str]) -> Result<Option<Named>> {
        Ok(Some(Named::Relation(Arc::clone(&self.table), vec!["t".to_owned()])))
    }

    fn functions(&self) -> &dyn FunctionRegistry {
        &self.functions
    }

    fn unknown_table(&self, name: &str) -> Error {
        Error::user(format!("no table named {name}"))
    }
}
