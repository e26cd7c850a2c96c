-- Heights of heroes.
SELECT pi.info AS height, count(*) AS chains, min(chn.name) AS part
FROM keyword k
JOIN movie_keyword mk ON mk.keyword_id = k.id
JOIN title t ON t.id = mk.movie_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN char_name chn ON chn.id = ci.person_role_id
JOIN name n ON n.id = ci.person_id
JOIN person_info pi ON pi.person_id = n.id
JOIN info_type it ON it.id = pi.info_type_id
JOIN role_type rt ON rt.id = ci.role_id
WHERE k.keyword IN ('hero', 'superhero', 'martial-arts') AND it.info = 'height' AND rt.role IN ('actor', 'actress')
  AND chn.name LIKE '%man%'
GROUP BY pi.info
