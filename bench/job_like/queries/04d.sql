-- Pairs of festivals and keywords of the same titles.
SELECT min(t.title) AS title, count(*) AS pairs
FROM title t
JOIN movie_info mi ON mi.movie_id = t.id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
WHERE mi.info_type_id = 16 AND mi.note LIKE '%Festival%' AND t.production_year BETWEEN 1990 AND 2010
  AND k.keyword LIKE '%night%'
