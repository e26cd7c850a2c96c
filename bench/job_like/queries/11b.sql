-- Links of links, with who released which.
SELECT min(t1.title) AS first_title, min(t3.title) AS last_title, min(cn.name) AS company, count(*) AS chains
FROM title t1
JOIN movie_link l1 ON l1.movie_id = t1.id
JOIN link_type lt1 ON lt1.id = l1.link_type_id
JOIN title t2 ON t2.id = l1.linked_movie_id
JOIN movie_link l2 ON l2.movie_id = t2.id
JOIN link_type lt2 ON lt2.id = l2.link_type_id
JOIN title t3 ON t3.id = l2.linked_movie_id
JOIN movie_companies mc ON mc.movie_id = t3.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN company_type ct ON ct.id = mc.company_type_id
JOIN kind_type kt ON kt.id = t3.kind_id
WHERE lt1.link = 'referenced in' AND lt2.link IN ('references', 'spoofs') AND ct.kind = 'distributors'
  AND mc.note LIKE '%(VHS)%' AND kt.kind = 'movie' AND t1.production_year < 1990
