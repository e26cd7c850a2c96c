//! godwit-files
