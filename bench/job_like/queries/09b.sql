-- Writers of well rated drama from the United Kingdom.
SELECT n.name, count(*) AS chains, max(rating.info) AS best
FROM title t
JOIN movie_info genre ON genre.movie_id = t.id
JOIN info_type it1 ON it1.id = genre.info_type_id
JOIN movie_info_idx rating ON rating.movie_id = t.id
JOIN info_type it2 ON it2.id = rating.info_type_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN name n ON n.id = ci.person_id
WHERE it1.info = 'genres' AND genre.info IN ('Drama', 'Romance') AND it2.info = 'rating' AND rating.info > '8.0'
  AND cn.country_code = '[gb]' AND ci.note IN ('(writer)', '(screenplay)', '(novel)')
GROUP BY n.name
ORDER BY chains DESC, n.name
LIMIT 20
