-- Keywords of what women wrote in the eighties.
SELECT k.keyword, count(*) AS films
FROM name n
JOIN cast_info ci ON ci.person_id = n.id
JOIN role_type rt ON rt.id = ci.role_id
JOIN title t ON t.id = ci.movie_id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
WHERE rt.role = 'writer' AND n.gender = 'f' AND t.production_year BETWEEN 1980 AND 1989
GROUP BY k.keyword
HAVING count(*) > 20
