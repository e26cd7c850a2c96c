CREATE SCHEMA "s";
CREATE TYPE "main"."mood" AS ENUM('sad', 'it''s ok', 'happy');
CREATE TYPE "s"."mood" AS ENUM('z', 'a');
CREATE TYPE "main"."a_pair" AS STRUCT("m" "main"."mood", "n" INTEGER);
CREATE TABLE "main"."back" ("id" INTEGER, "m" "main"."mood", "sm" "s"."mood", "u" UUID, "j" JSON, "b" BIT, "h" HUGEINT, "map" MAP(VARCHAR, INTEGER), "ms" "main"."mood"[], "p" STRUCT("m" "main"."mood", "n" INTEGER), "e" ENUM('x', 'y'));
CREATE TABLE "main"."t" ("id" INTEGER NOT NULL, "m" "main"."mood" DEFAULT ('happy'), "sm" "s"."mood", "u" UUID, "j" JSON, "b" BIT, "h" HUGEINT, "map" MAP(VARCHAR, INTEGER), "ms" "main"."mood"[], "p" STRUCT("m" "main"."mood", "n" INTEGER), "e" ENUM('x', 'y'), CONSTRAINT "t_pkey" PRIMARY KEY ("id"));
USE main;
