//! The elements of GROUP BY: keys, and the grouping sets made of them by ROLLUP, CUBE and GROUPING SETS.
//!
//! Each element stands for a list of sets; several elements are combined as a cross product.

use godwit_common::{Error, Result, Span, SqlState};
use godwit_syntax::Child;
use godwit_syntax::ast::{self, GroupingElement, GroupingElementKind};

use super::group::Grouping;
use super::items::{Item, ItemValue, for_each_part};
use super::order;
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};
use crate::expr::Collation;
use crate::scope::Scope;

/// Maximum number of grouping sets: each has its own groups.
const SETS_MAX: usize = 4096;

/// Maximum number of keys with grouping sets: the grouping id has a bit for each.
const KEYS_WITH_SETS_MAX: usize = 62;

/// Grouping sets, as positions of keys.
type Sets = Vec<Vec<usize>>;

impl Binder {
    /// Binds the keys and sets of GROUP BY.
    pub(super) fn group_elements(
        &mut self,
        elements: &[GroupingElement],
        distinct: bool,
        items: &mut [Item<'_>],
        scope: &Scope<'_>,
    ) -> Result<Grouping> {
        let mut grouping = Grouping::default();
        let mut all: Sets = vec![Vec::new()];
        let mut has_sets = false;
        for element in elements {
            has_sets |= matches!(
                element.kind,
                GroupingElementKind::Rollup(_) | GroupingElementKind::Cube(_) | GroupingElementKind::Sets(_)
            );
            let sets = self.sets_of(element, &mut grouping, items, scope)?;
            check_count(all.len().saturating_mul(sets.len()), element.span)?;
            let combined = all.iter().flat_map(|left| sets.iter().map(move |right| union(left, right)));
            all = combined.collect();
        }
        if distinct {
            let mut seen: Sets = Vec::new();
            all.retain(|set| {
                let mut sorted = set.clone();
                sorted.sort_unstable();
                let is_new = !seen.contains(&sorted);
                seen.push(sorted);
                is_new
            });
        }
        if has_sets {
            if grouping.exprs.len() > KEYS_WITH_SETS_MAX {
                let message = format!("grouping sets of more than {KEYS_WITH_SETS_MAX} keys");
                return Err(Error::unsupported(message).at_span(elements[0].span));
            }
            grouping.sets = Some(all);
        }
        Ok(grouping)
    }

    fn sets_of(
        &mut self,
        element: &GroupingElement,
        grouping: &mut Grouping,
        items: &mut [Item<'_>],
        scope: &Scope<'_>,
    ) -> Result<Sets> {
        let mut keys = |binder: &mut Self, exprs: &[ast::Expr]| -> Result<Vec<usize>> {
            let mut set = Vec::new();
            for expr in exprs {
                let key = binder.group_key(expr, items, scope, grouping)?;
                if !set.contains(&key) {
                    set.push(key);
                }
            }
            Ok(set)
        };
        match &element.kind {
            GroupingElementKind::Expr(expr) => Ok(vec![keys(self, std::slice::from_ref(expr))?]),
            GroupingElementKind::Set(exprs) => Ok(vec![keys(self, exprs)?]),
            GroupingElementKind::Rollup(parts) => {
                let parts = parts.iter().map(|part| keys(self, part)).collect::<Result<Sets>>()?;
                Ok((0..=parts.len()).rev().map(|length| united(&parts[..length])).collect())
            }
            GroupingElementKind::Cube(parts) => {
                let parts = parts.iter().map(|part| keys(self, part)).collect::<Result<Sets>>()?;
                check_count(1usize.checked_shl(parts.len() as u32).unwrap_or(usize::MAX), element.span)?;
                let subset = |bits: usize| {
                    let chosen = parts.iter().enumerate().filter(|(at, _)| bits >> (parts.len() - 1 - at) & 1 == 1);
                    united(&chosen.map(|(_, part)| part.clone()).collect::<Sets>())
                };
                Ok((0..1usize << parts.len()).rev().map(subset).collect())
            }
            GroupingElementKind::Sets(elements) => {
                let mut sets = Vec::new();
                for element in elements {
                    sets.extend(self.sets_of(element, grouping, items, scope)?);
                    check_count(sets.len(), element.span)?;
                }
                Ok(sets)
            }
        }
    }

    /// Binds a key: an expression over FROM, the position of an item of SELECT, or its alias if FROM has no such name.
    /// Returns its position.
    fn group_key(
        &mut self,
        expr: &ast::Expr,
        items: &mut [Item<'_>],
        scope: &Scope<'_>,
        grouping: &mut Grouping,
    ) -> Result<usize> {
        let (expr, collation) = Collation::split(expr)?;
        let named = match &expr.kind {
            ast::ExprKind::Column(path) if path.len() == 1 => {
                let is_column = scope.has_column(&path[0]);
                items.iter().position(|item| !is_column && item.is_alias && path[0].is(&item.name))
            }
            _ if has_subquery(expr) => items.iter().position(|item| is_written_as(item, expr)),
            _ => order::position(expr, items.len())?,
        };
        let key = match named {
            Some(at) => self.item_ahead(&mut items[at], scope, Clause::GroupBy)?,
            None => {
                let (clause, mut collected) = (Clause::GroupBy, Collected::default());
                self.expr(expr, &mut ExprContext { scope, clause, collected: &mut collected, windows: &[] })?
            }
        };
        let value = self.settle(key);
        grouping.key(self, value, collation)
    }
}

fn has_subquery(expr: &ast::Expr) -> bool {
    let mut found = false;
    for_each_part(expr, &mut |part| part.for_each_child(&mut |child| found |= matches!(child, Child::Query(_))));
    found
}

/// Whether the item has the same text. Only then can its subquery be that of a key.
fn is_written_as(item: &Item<'_>, key: &ast::Expr) -> bool {
    matches!(item.value, ItemValue::Expr(expr) if expr.to_string() == key.to_string())
}

fn check_count(sets: usize, span: Span) -> Result<()> {
    if sets <= SETS_MAX {
        return Ok(());
    }
    let error = Error::user(format!("more than {SETS_MAX} grouping sets")).with_code(SqlState::STATEMENT_TOO_COMPLEX);
    Err(error.at_span(span).with_hint("list the GROUPING SETS that are wanted"))
}

fn union(left: &[usize], right: &[usize]) -> Vec<usize> {
    united(&[left.to_vec(), right.to_vec()])
}

/// Returns the keys of several sets, each once.
fn united(sets: &[Vec<usize>]) -> Vec<usize> {
    let mut all = Vec::new();
    for &key in sets.iter().flatten() {
        if !all.contains(&key) {
            all.push(key);
        }
    }
    all
}
