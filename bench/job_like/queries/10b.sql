-- The same people before and after: a person's early horror and late comedy.
SELECT n.name, count(*) AS pairs
FROM name n
JOIN cast_info c1 ON c1.person_id = n.id
JOIN title t1 ON t1.id = c1.movie_id
JOIN movie_info g1 ON g1.movie_id = t1.id
JOIN info_type it1 ON it1.id = g1.info_type_id
JOIN cast_info c2 ON c2.person_id = n.id
JOIN title t2 ON t2.id = c2.movie_id
JOIN movie_info g2 ON g2.movie_id = t2.id
JOIN info_type it2 ON it2.id = g2.info_type_id
JOIN role_type rt ON rt.id = c1.role_id AND rt.id = c2.role_id
WHERE rt.role = 'producer' AND it1.info = 'genres' AND it2.info = 'genres' AND g1.info = 'Horror' AND g2.info = 'Comedy'
  AND t1.production_year < t2.production_year AND t1.production_year BETWEEN 1985 AND 1999 AND n.name LIKE 'S%'
GROUP BY n.name
ORDER BY pairs DESC, n.name
LIMIT 20
