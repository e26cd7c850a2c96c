-- Horror by budget: four kinds of information of the same titles.
SELECT min(t.title) AS title, min(budget.info) AS budget, max(rating.info) AS rating, count(*) AS chains
FROM title t
JOIN movie_info genre ON genre.movie_id = t.id
JOIN movie_info budget ON budget.movie_id = t.id
JOIN movie_info country ON country.movie_id = t.id
JOIN movie_info_idx rating ON rating.movie_id = t.id
WHERE genre.info_type_id = 3 AND genre.info = 'Horror' AND budget.info_type_id = 105 AND country.info_type_id = 8
  AND rating.info_type_id = 101 AND rating.info < '5.0' AND t.production_year > 1980
