-- Directors with a name like a river's, in every tenth year.
SELECT t.production_year, count(*) AS credits, count(DISTINCT n.id) AS people, min(n.name) AS first_name
FROM role_type rt
JOIN cast_info ci ON ci.role_id = rt.id
JOIN name n ON n.id = ci.person_id
JOIN title t ON t.id = ci.movie_id
WHERE rt.role = 'director' AND (n.name LIKE '%ford%' OR n.name LIKE 'Rhei%' OR n.name LIKE '%bach%')
  AND t.production_year % 10 = 5
GROUP BY t.production_year
