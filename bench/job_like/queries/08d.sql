-- Composers by the country of the film's company.
SELECT cn.country_code, count(*) AS credits, count(DISTINCT n.id) AS people
FROM role_type rt
JOIN cast_info ci ON ci.role_id = rt.id
JOIN name n ON n.id = ci.person_id
JOIN title t ON t.id = ci.movie_id
JOIN kind_type kt ON kt.id = t.kind_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN company_type ct ON ct.id = mc.company_type_id
WHERE rt.role = 'composer' AND kt.kind IN ('movie', 'tv movie') AND ct.kind = 'production companies'
  AND cn.country_code IS NOT NULL AND n.gender IS NULL
GROUP BY cn.country_code
