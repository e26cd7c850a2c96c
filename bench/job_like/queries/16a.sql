-- Voices with trivia, in what was released in Japan and the United States.
SELECT n.name, min(chn.name) AS part, count(*) AS chains
FROM complete_cast cc
JOIN comp_cast_type status ON status.id = cc.status_id
JOIN title t ON t.id = cc.movie_id
JOIN movie_info dates ON dates.movie_id = t.id
JOIN info_type it1 ON it1.id = dates.info_type_id
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
JOIN info_type it2 ON it2.id = pi.info_type_id
WHERE status.kind = 'complete+verified' AND it1.info = 'release dates' AND dates.info LIKE 'Japan:%20__'
  AND k.keyword = 'computer-animation' AND cn.name LIKE 'DreamWorks%' AND ci.note LIKE '(voice%'
  AND rt.role = 'actress' AND it2.info = 'trivia' AND pi.info LIKE '%Vienna%'
GROUP BY n.name
ORDER BY chains DESC, n.name
LIMIT 10
