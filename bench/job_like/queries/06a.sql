-- Companies behind the most popular animation.
SELECT cn.name, count(*) AS credits, min(t.title) AS title
FROM movie_info_idx i
JOIN info_type it ON it.id = i.info_type_id
JOIN title t ON t.id = i.movie_id
JOIN movie_info mi ON mi.movie_id = t.id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
WHERE it.info = 'top 250 rank' AND mi.info_type_id = 3 AND mi.info IN ('Animation', 'Family', 'Fantasy')
GROUP BY cn.name
ORDER BY credits DESC, cn.name
LIMIT 20
