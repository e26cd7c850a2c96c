-- Voices of animation that was made for the United States, and what they were the voices of.
SELECT chn.name AS part, count(*) AS credits, min(n.name) AS voice
FROM movie_info mi
JOIN title t ON t.id = mi.movie_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN name n ON n.id = ci.person_id
JOIN char_name chn ON chn.id = ci.person_role_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
WHERE mi.info_type_id = 3 AND mi.info = 'Animation' AND ci.note IN ('(voice)', '(voice: English version)')
  AND n.name LIKE '%Mar%' AND cn.country_code = '[us]' AND mc.note LIKE '%(theatrical)%' AND t.production_year > 1985
GROUP BY chn.name
ORDER BY credits DESC, part
LIMIT 20
