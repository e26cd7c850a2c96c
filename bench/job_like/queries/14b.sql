-- Complete crews of crimes that weren't made in the United States.
SELECT country.info AS country, count(*) AS chains, min(cn.name) AS company, min(rating.info) AS worst
FROM complete_cast cc
JOIN comp_cast_type subject ON subject.id = cc.subject_id
JOIN comp_cast_type status ON status.id = cc.status_id
JOIN title t ON t.id = cc.movie_id
JOIN kind_type kt ON kt.id = t.kind_id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN company_type ct ON ct.id = mc.company_type_id
JOIN movie_info country ON country.movie_id = t.id
JOIN info_type it1 ON it1.id = country.info_type_id
JOIN movie_info_idx rating ON rating.movie_id = t.id
JOIN info_type it2 ON it2.id = rating.info_type_id
WHERE subject.kind = 'crew' AND status.kind LIKE 'complete%' AND kt.kind IN ('movie', 'episode', 'tv movie')
  AND k.keyword IN ('murder', 'detective', 'robbery', 'gangster') AND cn.country_code <> '[us]'
  AND ct.kind = 'distributors' AND mc.note NOT LIKE '%(USA)%' AND it1.info = 'countries' AND it2.info = 'rating'
GROUP BY country.info
