-- Martial arts from Hong Kong and Japan with American releases.
SELECT cn.country_code, t.production_year, count(*) AS chains, max(rating.info) AS best
FROM keyword k
JOIN movie_keyword mk ON mk.keyword_id = k.id
JOIN title t ON t.id = mk.movie_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN movie_info dates ON dates.movie_id = t.id
JOIN info_type it1 ON it1.id = dates.info_type_id
JOIN movie_info_idx rating ON rating.movie_id = t.id
JOIN info_type it2 ON it2.id = rating.info_type_id
JOIN kind_type kt ON kt.id = t.kind_id
WHERE k.keyword IN ('martial-arts', 'kung-fu', 'hand-to-hand-combat') AND cn.country_code IN ('[hk]', '[jp]')
  AND it1.info = 'release dates' AND dates.info LIKE 'USA:%' AND it2.info = 'rating' AND kt.kind <> 'episode'
  AND t.production_year IS NOT NULL
GROUP BY cn.country_code, t.production_year
