-- Co-productions of two companies from different countries.
SELECT c1.country_code, c2.country_code AS other_code, count(*) AS titles
FROM title t
JOIN kind_type kt ON kt.id = t.kind_id
JOIN movie_companies m1 ON m1.movie_id = t.id
JOIN movie_companies m2 ON m2.movie_id = t.id
JOIN company_name c1 ON c1.id = m1.company_id
JOIN company_name c2 ON c2.id = m2.company_id
JOIN company_type ct ON ct.id = m1.company_type_id
WHERE kt.kind = 'movie' AND ct.kind = 'production companies' AND m1.note LIKE '%co-production%'
  AND m2.note LIKE '%presents%' AND c1.country_code < c2.country_code
GROUP BY c1.country_code, c2.country_code
