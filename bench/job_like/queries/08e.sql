-- Titles with another title in Japan, and their voices.
SELECT min(aka.title) AS other_title, min(chn.name) AS part, count(*) AS chains
FROM aka_title aka
JOIN title t ON t.id = aka.movie_id
JOIN kind_type kt ON kt.id = t.kind_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN char_name chn ON chn.id = ci.person_role_id
JOIN name n ON n.id = ci.person_id
JOIN movie_info mi ON mi.movie_id = t.id
JOIN info_type it ON it.id = mi.info_type_id
WHERE aka.note = '(Japan)' AND kt.kind = 'movie' AND ci.note LIKE '%(voice%' AND chn.name LIKE 'C%'
  AND it.info = 'release dates' AND mi.info LIKE 'Japan:%'
