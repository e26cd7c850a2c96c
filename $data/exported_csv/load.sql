COPY "main"."child of" ("id", "price", "seen", "day", "flag", "text", "ratio") FROM '$data/exported_csv/main_child_of.csv' (format 'csv', header 'true', null '\N');
COPY "s"."parent" ("id", "name") FROM '$data/exported_csv/s_parent.csv' (format 'csv', header 'true', null '\N');
