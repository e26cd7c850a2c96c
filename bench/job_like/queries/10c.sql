-- Complete casts of sequels to films of the same company.
SELECT cct.kind, count(*) AS chains, min(t1.title) AS title
FROM movie_link ml
JOIN link_type lt ON lt.id = ml.link_type_id
JOIN title t1 ON t1.id = ml.movie_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN movie_companies m1 ON m1.movie_id = t1.id
JOIN movie_companies m2 ON m2.movie_id = t2.id AND m2.company_id = m1.company_id
JOIN company_name cn ON cn.id = m1.company_id
JOIN complete_cast cc ON cc.movie_id = t1.id
JOIN comp_cast_type cct ON cct.id = cc.status_id
JOIN comp_cast_type subject ON subject.id = cc.subject_id
WHERE lt.link = 'follows' AND subject.kind = 'cast' AND cn.country_code <> '[fr]'
GROUP BY cct.kind
