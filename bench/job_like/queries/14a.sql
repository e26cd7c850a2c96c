-- Series that follow series: ratings and companies on both sides.
SELECT c1.country_code, c2.country_code AS linked_code, count(*) AS chains, min(r2.info) AS worst
FROM movie_link ml
JOIN link_type lt ON lt.id = ml.link_type_id
JOIN title t1 ON t1.id = ml.movie_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN kind_type k1 ON k1.id = t1.kind_id
JOIN kind_type k2 ON k2.id = t2.kind_id
JOIN movie_companies m1 ON m1.movie_id = t1.id
JOIN movie_companies m2 ON m2.movie_id = t2.id
JOIN company_name c1 ON c1.id = m1.company_id
JOIN company_name c2 ON c2.id = m2.company_id
JOIN movie_info_idx r1 ON r1.movie_id = t1.id
JOIN movie_info_idx r2 ON r2.movie_id = t2.id
JOIN info_type it1 ON it1.id = r1.info_type_id
JOIN info_type it2 ON it2.id = r2.info_type_id
WHERE k1.kind = 'tv series' AND k2.kind = 'tv series' AND it1.info = 'rating' AND it2.info = 'rating'
  AND r2.info < r1.info AND t2.production_year >= 1990
GROUP BY c1.country_code, c2.country_code
