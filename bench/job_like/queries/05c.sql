-- Who was in a film with whom: two casts of the same titles.
SELECT n2.name, count(*) AS films
FROM name n1
JOIN cast_info c1 ON c1.person_id = n1.id
JOIN title t ON t.id = c1.movie_id
JOIN cast_info c2 ON c2.movie_id = t.id
JOIN name n2 ON n2.id = c2.person_id
WHERE n1.name LIKE 'Downey%Robert' AND t.kind_id = 1 AND n2.gender = 'f' AND c2.nr_order <= 5
GROUP BY n2.name
ORDER BY films DESC, n2.name
LIMIT 30
