//! godwit-exec
