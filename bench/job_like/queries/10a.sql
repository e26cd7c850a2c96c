-- Everything about a few: a long star whose center is the best 250.
SELECT min(t.title) AS title, min(cn.name) AS company, min(k.keyword) AS keyword, count(*) AS chains
FROM movie_info_idx rank
JOIN info_type it ON it.id = rank.info_type_id
JOIN title t ON t.id = rank.movie_id
JOIN movie_info mi ON mi.movie_id = t.id
JOIN info_type it2 ON it2.id = mi.info_type_id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN company_type ct ON ct.id = mc.company_type_id
WHERE it.info = 'top 250 rank' AND it2.info = 'release dates' AND ct.kind = 'distributors'
  AND cn.country_code = '[us]' AND k.keyword LIKE 's%'
