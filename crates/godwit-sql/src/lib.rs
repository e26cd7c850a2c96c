//! godwit-sql
