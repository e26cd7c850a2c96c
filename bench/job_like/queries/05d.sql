-- Long series: episodes, their series, and how these are rated.
SELECT series.title, max(e.season_nr) AS seasons, count(*) AS episodes, min(i.info) AS rating
FROM title e
JOIN title series ON series.id = e.episode_of_id
JOIN kind_type kt ON kt.id = series.kind_id
JOIN movie_info_idx i ON i.movie_id = series.id
JOIN info_type it ON it.id = i.info_type_id
WHERE kt.kind = 'tv series' AND it.info = 'rating' AND i.info > '7.5'
GROUP BY series.id, series.title
HAVING count(*) > 100
