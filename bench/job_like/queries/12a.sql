-- Verified casts of marvels.
SELECT chn.name AS part, n.name, count(*) AS chains
FROM complete_cast cc
JOIN comp_cast_type subject ON subject.id = cc.subject_id
JOIN comp_cast_type status ON status.id = cc.status_id
JOIN title t ON t.id = cc.movie_id
JOIN kind_type kt ON kt.id = t.kind_id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN char_name chn ON chn.id = ci.person_role_id
JOIN name n ON n.id = ci.person_id
JOIN movie_info_idx rating ON rating.movie_id = t.id
JOIN info_type it ON it.id = rating.info_type_id
WHERE subject.kind = 'cast' AND status.kind = 'complete+verified' AND kt.kind = 'movie'
  AND k.keyword IN ('marvel-comics', 'superhero', 'based-on-comic') AND it.info = 'rating' AND rating.info >= '6.0'
  AND chn.name LIKE '%Man'
GROUP BY chn.name, n.name
ORDER BY chains DESC, part, n.name
LIMIT 20
