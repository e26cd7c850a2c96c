//! godwit-expression
