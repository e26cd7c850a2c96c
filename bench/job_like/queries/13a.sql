-- Soaps: what people of long running series are called otherwise, with what is known about them.
SELECT pi.note, count(*) AS chains, min(n.name) AS name
FROM title series
JOIN kind_type kt ON kt.id = series.kind_id
JOIN title e ON e.episode_of_id = series.id
JOIN cast_info ci ON ci.movie_id = e.id
JOIN role_type rt ON rt.id = ci.role_id
JOIN name n ON n.id = ci.person_id
JOIN aka_name an ON an.person_id = n.id
JOIN person_info pi ON pi.person_id = n.id
JOIN info_type it1 ON it1.id = pi.info_type_id
JOIN movie_companies mc ON mc.movie_id = series.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN movie_info_idx rating ON rating.movie_id = series.id
JOIN info_type it2 ON it2.id = rating.info_type_id
WHERE kt.kind = 'tv series' AND e.episode_nr > 100 AND rt.role = 'actress' AND it1.info = 'mini biography'
  AND cn.country_code = '[us]' AND it2.info = 'rating' AND pi.note IS NOT NULL
GROUP BY pi.note
