-- How sequels were rated, year by year.
SELECT t.production_year, count(*) AS sequels, min(i.info) AS worst, max(i.info) AS best
FROM keyword k
JOIN movie_keyword mk ON mk.keyword_id = k.id
JOIN title t ON t.id = mk.movie_id
JOIN movie_info_idx i ON i.movie_id = t.id
WHERE k.keyword LIKE '%sequel%' AND i.info_type_id = 101 AND t.production_year > 1970
GROUP BY t.production_year
