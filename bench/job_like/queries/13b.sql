-- Remembered westerns: alternative titles, certificates, locations and companies.
SELECT place.info AS place, count(*) AS chains, min(aka.title) AS other_title
FROM movie_info genre
JOIN info_type it1 ON it1.id = genre.info_type_id
JOIN title t ON t.id = genre.movie_id
JOIN aka_title aka ON aka.movie_id = t.id
JOIN movie_info place ON place.movie_id = t.id
JOIN info_type it2 ON it2.id = place.info_type_id
JOIN movie_info certificate ON certificate.movie_id = t.id
JOIN info_type it3 ON it3.id = certificate.info_type_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN company_type ct ON ct.id = mc.company_type_id
JOIN movie_info_idx rating ON rating.movie_id = t.id
JOIN info_type it4 ON it4.id = rating.info_type_id
WHERE it1.info = 'genres' AND genre.info IN ('Western', 'War') AND it2.info = 'locations' AND it3.info = 'certificates'
  AND certificate.info LIKE 'Germany:%' AND ct.kind = 'production companies' AND cn.country_code IN ('[us]', '[it]')
  AND it4.info = 'rating' AND rating.info > '6.5' AND t.production_year < 1990
GROUP BY place.info
