COPY "main"."child of" ("id", "price", "seen", "day", "flag", "text", "ratio") FROM '$data/exported_parquet/main_child_of.parquet' (format 'parquet');
COPY "s"."parent" ("id", "name") FROM '$data/exported_parquet/s_parent.parquet' (format 'parquet');
