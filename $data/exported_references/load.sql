COPY "main"."z_parent" ("id") FROM '$data/exported_references/main_z_parent.parquet' (format 'parquet');
COPY "main"."a_child" ("id", "parent", "n") FROM '$data/exported_references/main_a_child.parquet' (format 'parquet');
