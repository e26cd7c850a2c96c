-- Actresses called otherwise, whose films Warner released.
SELECT an.name AS otherwise, min(n.name) AS name, count(*) AS chains
FROM company_name cn
JOIN movie_companies mc ON mc.company_id = cn.id
JOIN company_type ct ON ct.id = mc.company_type_id
JOIN title t ON t.id = mc.movie_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN role_type rt ON rt.id = ci.role_id
JOIN name n ON n.id = ci.person_id
JOIN aka_name an ON an.person_id = n.id
WHERE cn.name LIKE 'Warner%' AND ct.kind = 'distributors' AND rt.role = 'actress' AND n.name LIKE 'G%'
  AND t.production_year > 1995
GROUP BY an.name
ORDER BY chains DESC, otherwise
LIMIT 25
