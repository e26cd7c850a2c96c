-- Producers of murder: credits times keywords times ratings.
SELECT ci.note, count(*) AS chains, min(i.info) AS worst, max(i.info) AS best
FROM keyword k
JOIN movie_keyword mk ON mk.keyword_id = k.id
JOIN title t ON t.id = mk.movie_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN name n ON n.id = ci.person_id
JOIN movie_info_idx i ON i.movie_id = t.id
JOIN info_type it ON it.id = i.info_type_id
WHERE k.keyword IN ('murder', 'killer', 'serial-killer', 'blood') AND ci.note LIKE '%producer)' AND n.gender = 'm'
  AND it.info = 'rating'
GROUP BY ci.note
