-- Who releases German films in Japan.
SELECT cn.name, count(*) AS titles, min(t.title) AS title
FROM company_name cn
JOIN movie_companies mc ON mc.company_id = cn.id
JOIN title t ON t.id = mc.movie_id
JOIN movie_info mi ON mi.movie_id = t.id
JOIN info_type it ON it.id = mi.info_type_id
WHERE cn.country_code = '[jp]' AND it.info = 'countries' AND mi.info = 'Germany' AND mc.note LIKE '%(Japan)%'
GROUP BY cn.name
