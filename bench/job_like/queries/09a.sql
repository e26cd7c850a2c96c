-- Hospital series: episodes, their casts, and the series' companies.
SELECT cn.name, count(*) AS chains, max(e.episode_nr) AS last_episode
FROM keyword k
JOIN movie_keyword mk ON mk.keyword_id = k.id
JOIN title series ON series.id = mk.movie_id
JOIN title e ON e.episode_of_id = series.id
JOIN cast_info ci ON ci.movie_id = e.id
JOIN name n ON n.id = ci.person_id
JOIN movie_companies mc ON mc.movie_id = series.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN company_type ct ON ct.id = mc.company_type_id
WHERE k.keyword IN ('hospital', 'sitcom', 'friend') AND n.gender = 'f' AND ci.note = '(uncredited)'
  AND ct.kind = 'distributors' AND mc.note LIKE '%(DVD)%'
GROUP BY cn.name
ORDER BY chains DESC, cn.name
LIMIT 20
