-- A chain of people: who acted with whom acted with whom, in horror.
SELECT min(n1.name) AS first_name, min(n2.name) AS last_name, count(*) AS chains
FROM keyword k
JOIN movie_keyword mk ON mk.keyword_id = k.id
JOIN title t1 ON t1.id = mk.movie_id
JOIN movie_info g1 ON g1.movie_id = t1.id
JOIN info_type it1 ON it1.id = g1.info_type_id
JOIN cast_info c1 ON c1.movie_id = t1.id
JOIN role_type r1 ON r1.id = c1.role_id
JOIN name n1 ON n1.id = c1.person_id
JOIN cast_info c2 ON c2.person_id = n1.id
JOIN role_type r2 ON r2.id = c2.role_id
JOIN title t2 ON t2.id = c2.movie_id
JOIN kind_type kt ON kt.id = t2.kind_id
JOIN cast_info c3 ON c3.movie_id = t2.id
JOIN role_type r3 ON r3.id = c3.role_id
JOIN name n2 ON n2.id = c3.person_id
WHERE k.keyword = 'slasher' AND it1.info = 'genres' AND g1.info = 'Horror' AND r1.role = 'director'
  AND r2.role = 'director' AND kt.kind = 'movie' AND r3.role = 'actress' AND c3.nr_order = 1
  AND t1.production_year < t2.production_year
