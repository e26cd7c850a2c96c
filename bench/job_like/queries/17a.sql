-- The longest way: from an actor's height to the release dates of fairy tales.
SELECT min(t.title) AS title, min(n.name) AS name, min(chn.name) AS part, min(an.name) AS otherwise, count(*) AS chains
FROM title t
JOIN kind_type kt ON kt.id = t.kind_id
JOIN movie_info dates ON dates.movie_id = t.id
JOIN info_type it1 ON it1.id = dates.info_type_id
JOIN movie_info_idx rating ON rating.movie_id = t.id
JOIN info_type it2 ON it2.id = rating.info_type_id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN role_type rt ON rt.id = ci.role_id
JOIN char_name chn ON chn.id = ci.person_role_id
JOIN name n ON n.id = ci.person_id
JOIN aka_name an ON an.person_id = n.id
JOIN person_info pi ON pi.person_id = n.id
JOIN info_type it3 ON it3.id = pi.info_type_id
WHERE kt.kind = 'movie' AND it1.info = 'release dates' AND dates.info LIKE 'USA:%' AND it2.info = 'rating'
  AND rating.info > '7.0' AND k.keyword = 'fairy-tale' AND cn.name LIKE '%Entertainment'
  AND mc.note LIKE '%(USA)%' AND rt.role = 'actor' AND n.name LIKE 'Bl%' AND it3.info IN ('height', 'birth date')
