COPY "main"."back" ("id", "m", "sm", "u", "j", "b", "h", "map", "ms", "p", "e") FROM '$data/exported_types/main_back.csv' (format 'csv', header 'true', null '\N');
COPY "main"."t" ("id", "m", "sm", "u", "j", "b", "h", "map", "ms", "p", "e") FROM '$data/exported_types/main_t.csv' (format 'csv', header 'true', null '\N');
